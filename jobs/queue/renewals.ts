type Worker = { on(event: 'closed', listener: () => void): unknown }

/**
 * Has a worker renew the locks of its jobs after the wall clock was set back, until it is closed. BullMQ counts by that clock how long ago it
 * renewed a lock, and renews none until the clock has come as far again: other workers would take the jobs over. `now` is that clock, in
 * Unix milliseconds. Looks every `everyMs`.
 */
export function renewAfterSetBack(worker: Worker, now: () => number, everyMs: number): void {
  const timer = setInterval(() => {
    const nowMs = now()
    for (const job of trackedJobs(worker)) if (job.ts > nowMs) job.ts = nowMs
  }, everyMs).unref()
  worker.on('closed', () => clearInterval(timer))
}

/** When each job under way was taken, or its lock was renewed last, as BullMQ keeps it. */
type Tracked = { ts: number }

function trackedJobs(worker: Worker): Tracked[] {
  const manager: unknown = Reflect.get(worker, 'lockManager')
  const jobs: unknown =
    typeof manager === 'object' && manager !== null ? Reflect.get(manager, 'trackedJobs') : undefined
  return jobs instanceof Map ? [...jobs.values()].filter(isTracked) : []
}

function isTracked(job: unknown): job is Tracked {
  return typeof job === 'object' && job !== null && 'ts' in job && typeof job.ts === 'number'
}
