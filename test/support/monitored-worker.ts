import { aJobsWorkplace } from './jobs-workplace.ts'
import { startWorker } from './worker-here.ts'
import { startWorkerProcess } from './worker-process.ts'
import { aSandbox, organizationsOf } from './workplace.ts'

/** A folder for a worker of one organization. */
export async function aPlace() {
  const sandbox = await aSandbox({ customers: [250] })
  const schedule = { cron: '0 2 * * *', timezone: 'Europe/Paris' }
  return aJobsWorkplace(organizationsOf(sandbox), { schedule })
}

const timings = { catchUpMs: 60_000 }

/** A worker in this process. */
export async function aWorker() {
  const place = await aPlace()
  return { place, worker: startWorker(place, { timings }) }
}

/** A worker with options of Node of its own. */
export async function aWorkerProcess(options: { node: string[] }) {
  const place = await aPlace()
  return { place, worker: startWorkerProcess(place, { ...options, timings }) }
}
