import { z } from 'zod'
import { aJobsWorkplace, someQueues } from './jobs-workplace.ts'
import { type WorkerLog } from './worker-log.ts'
import { aSandbox, organizationsOf } from './workplace.ts'

/** What the worker answers to /readyz. */
export async function readiness(worker: WorkerLog): Promise<Record<string, unknown>> {
  const { http } = await worker.said((line) => line.http !== undefined)
  return z.record(z.string(), z.unknown()).parse(await (await fetch(`${http}/readyz`)).json())
}

type Queue = {
  queues: Awaited<ReturnType<typeof someQueues>>['queues']
  values: Awaited<ReturnType<typeof someQueues>>['backend']['values']
}

/** A folder for a worker, and how to work in its queue while no worker runs. */
export async function aPlace(options: Parameters<typeof aSandbox>[0] = { customers: [5, 3] }) {
  const place = aJobsWorkplace(organizationsOf(await aSandbox(options)))
  /** An embedded queue is open in one place at a time. */
  async function inQueue<Result>(work: (queue: Queue) => Promise<Result>): Promise<Result> {
    const { backend, queues, close } = await someQueues(place.queue, place.mirror)
    try {
      return await work({ queues, values: backend.values })
    } finally {
      await close()
    }
  }
  return { place, inQueue }
}
