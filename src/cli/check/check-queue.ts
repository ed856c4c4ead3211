import { processEnvironment } from '../../config/environment.ts'
import { isPasswordInFile } from '../../config/settings/queue-address.ts'
import type { Config } from '../../config/read-config.ts'
import { isSharedQueue } from '../../config/shared-queue.ts'
import { failedCheck, type Finding } from './finding.ts'

/**
 * Whether the queue on a server answers and keeps what it is given, and whether its password is where it belongs; nothing where none is
 * configured, or where it is embedded in its worker.
 */
export async function* checkQueue({ queue }: Pick<Config, 'queue'>): AsyncGenerator<Finding> {
  if (!isSharedQueue(queue)) return
  const what = 'queue'
  if (isPasswordInFile(queue, processEnvironment())) yield { what, ...PASSWORD_IN_FILE, isWarning: true }
  const { askQueue } = await import('../../../jobs/commands/ask-queue.ts')
  try {
    const { place, dropsKeysBy } = await askQueue(queue)
    yield { what, said: `${place} answered` }
    if (dropsKeysBy !== undefined) yield { what, ...dropsKeys(dropsKeysBy), isWarning: true }
  } catch (error) {
    yield { ...failedCheck(what, error), isCommon: true }
  }
}

const PASSWORD_IN_FILE = {
  said: 'its password stands in the configuration file, for every reader of that file',
  fix: 'put the whole address into the environment variable CUSTOMER_MIRROR_QUEUE, and take queue out of the file.',
}

function dropsKeys(policy: string) {
  return {
    said: `its server drops keys when it is full (maxmemory-policy ${policy}): jobs, schedules and pauses may vanish`,
    fix: 'set maxmemory-policy to noeviction in the configuration of that server.',
  }
}
