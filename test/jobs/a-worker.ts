import type { Timings } from '../../jobs/timings.ts'
import { aJobsWorkplace } from '../support/jobs-workplace.ts'
import { startWorker } from '../support/worker-log.ts'
import { type Answering, aSandbox, organizationsOf } from '../support/workplace.ts'

type Settings = Parameters<typeof aJobsWorkplace>[1] & { each?: object; timings?: Partial<Timings> }

/** A sandbox, a folder with a configuration for its organizations, each of them with the settings `each`, and their worker. */
export async function aWorkerOf(options: Answering, { each = {}, timings = {}, ...settings }: Settings = {}) {
  const sandbox = await aSandbox(options)
  const place = aJobsWorkplace(organizationsOf(sandbox, each), settings)
  return { sandbox, place, worker: startWorker(place, { timings }) }
}
