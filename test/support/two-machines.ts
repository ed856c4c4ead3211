import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { parse, stringify } from 'yaml'
import { eventually } from './eventually.ts'
import { aJobsWorkplace, someQueues } from './jobs-workplace.ts'
import { startWorker } from './worker-here.ts'
import { message } from './worker-log.ts'
import { aSandbox, organizationsOf } from './workplace.ts'

/** The line of a worker whose configuration another one has replaced. */
export const OTHER = message('another configuration is accepted, the schedules are left to the workers that have it')

/** Two folders with a file each, for one queue and one mirror. */
export async function twoMachines() {
  const sandbox = await aSandbox({ customers: [3, 3, 3] })
  const all = organizationsOf(sandbox)
  const place = aJobsWorkplace(all.slice(0, 1))
  const other = aJobsWorkplace([], { queue: place.queue })
  const document: object = parse(readFileSync(place.config, 'utf8'))
  const write = (file: string, ids: readonly string[]) => {
    const organizations = all.filter(({ id }) => ids.includes(id))
    writeFileSync(file, stringify({ ...document, mirror: place.mirror, organizations }))
  }
  write(place.config, ['acme'])
  copyFileSync(place.config, other.config)
  const { queues } = await someQueues(place.queue, place.mirror)
  const keys = async () => (await queues.tick.getJobSchedulers()).map(({ key }) => key).toSorted()
  return { place, other, write, keys, queues }
}

/** The schedules until workers have compared them often enough: each state once. */
export async function whileComparing(keys: () => Promise<string[]>, isEnough: () => boolean): Promise<string[]> {
  const seen = new Set<string>()
  await eventually(async () => void seen.add((await keys()).join()), isEnough)
  return [...seen]
}

/** The problems that are about the configuration. */
export function aboutConfiguration({ problems }: { problems: string[] }): string[] {
  return problems.filter((problem) => problem.includes('configuration'))
}

/** What the worker answers to /readyz. */
export async function readiness(
  worker: ReturnType<typeof startWorker>,
): Promise<{ status: number; problems: string[] }> {
  const { http = '' } = await worker.said(({ http: origin }) => origin !== undefined)
  const response = await fetch(`${http}/readyz`)
  const { problems }: { problems: string[] } = Object(await response.json())
  return { status: response.status, problems }
}
