import { describeError } from '../errors/errors.ts'
import { nothingPruned, type Pruned } from '../report.ts'
import type { Retention, Run } from '../run.ts'
import type { Source } from '../source/customers.ts'
import type { Mirror } from '../store.ts'
import { serviceTimeMs } from './service-time.ts'

type Settings = {
  mirror: Pick<Mirror, 'prune'>
  source: Partial<Pick<Source, 'clockOffsetMs'>>
  /** How long rows of the organization are kept; without it, for ever. */
  retention?: Retention | undefined
  now: () => number
  signal: AbortSignal
}

/**
 * Deletes what is older than the organization keeps it, after a run. Ages are measured against the start of the run or the clock of
 * the service, the earlier one: a clock of this machine that jumped ahead deletes nothing. Never throws, since the run has ended.
 * Undefined where nothing was deleted.
 */
export async function applyRetention(
  { mirror, source, retention, now, signal }: Settings,
  { organization, startedAtMs }: Pick<Run, 'organization' | 'startedAtMs'>,
): Promise<Pruned | undefined> {
  if (retention === undefined || signal.aborted) return undefined
  const serviceMs = serviceTimeMs({ source, now })
  const reckoning = { asOfMs: Math.min(startedAtMs, serviceMs ?? Infinity), isConfirmed: serviceMs !== undefined }
  try {
    const pruned = await mirror.prune(organization, retention, reckoning)
    const { changes, resolvedRejects, runs, removedCustomers } = pruned
    return changes + resolvedRejects + runs + removedCustomers > 0 ? pruned : undefined
  } catch (error) {
    const { code, message } = describeError(error)
    // The message of a defect may quote anything.
    const said =
      code === 'unexpected' ? 'Retention failed. This is a defect of Customer Mirror; please report it.' : message
    return { ...nothingPruned(), isUnfinished: true, error: { code, message: said } }
  }
}
