import type { Config } from '../config/read-config.ts'
import { isSharedQueue } from '../config/shared-queue.ts'
import { failedCheck, type Finding } from './finding.ts'

/** Whether the queue on a server answers; nothing where none is configured, or where it is embedded in its worker. */
export async function* checkQueue({ queue }: Pick<Config, 'queue'>): AsyncGenerator<Finding> {
  if (!isSharedQueue(queue)) return
  const what = 'queue'
  const { askQueue } = await import('../../jobs/commands/ask-queue.ts')
  try {
    yield { what, said: `${await askQueue(queue)} answered` }
  } catch (error) {
    yield { ...failedCheck(what, error), isCommon: true }
  }
}
