import type { Config } from '../../src/config/read-config.ts'
import { isSharedQueue } from '../../src/config/places.ts'
import type { Pauses } from '../../src/pause.ts'
import { askValues } from '../queue/open-values.ts'
import { readPauses } from './pauses.ts'

/** How long a command waits that only shows pauses beside other things. */
const LONGEST_MS = 1000

/** The pauses in the queue of the configuration; undefined where no queue is shared, and where it does not answer within a second. */
export async function readSharedPauses({ queue }: Pick<Config, 'queue'>): Promise<Pauses | undefined> {
  if (!isSharedQueue(queue)) return undefined
  return askValues(queue, LONGEST_MS, ({ values }) => readPauses(values)).catch(() => undefined)
}
