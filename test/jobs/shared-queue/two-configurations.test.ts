import { copyFileSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { parse, stringify } from 'yaml'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { aJobsWorkplace, someQueues } from '../../support/jobs-workplace.ts'
import { startWorker } from '../../support/worker-here.ts'
import { message } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

const BROKEN = message('configuration has mistakes, the one before stays')
const OTHER = message('another configuration is accepted, the schedules are left to the workers that have it')

test('of two edits, the second broken, the first stays: no worker removes what it does not know', async () => {
  const { place, other, write, keys } = await twoMachines()
  const [first, second] = [startWorker(place), startWorker(other)]
  await Promise.all([first.said(message('worker started')), second.said(message('worker started'))])
  await eventually(keys, (names) => names.join() === 'acme')

  // The first worker reads both edits, the second one only the broken one.
  write(place.config, ['acme', 'globex'])
  await eventually(keys, (names) => names.join() === 'acme,globex')
  await second.said(OTHER)
  writeFileSync(place.config, 'organizations: [')
  writeFileSync(other.config, 'organizations: [')
  await Promise.all([first.said(BROKEN), second.said(BROKEN)])
  const [ready, otherReady] = await Promise.all([readiness(first), readiness(second)])
  const afterMistakes = await whileComparing(keys, () => mistakes(first) > 3 && mistakes(second) > 3)

  expect(afterMistakes).toEqual(['acme,globex'])
  expect(ready.status).toBe(503)
  expect(aboutConfiguration(ready)).toEqual([expect.stringContaining('the configuration file cannot be used')])
  expect(aboutConfiguration(otherReady)).toEqual([
    expect.stringContaining('the configuration file cannot be used'),
    expect.stringContaining('runs on a configuration other than the one accepted'),
  ])

  write(other.config, ['globex'])
  await eventually(keys, (names) => names.join() === 'globex')
  write(place.config, ['globex'])
  await eventually(
    () => readiness(first),
    (answer) => aboutConfiguration(answer).length === 0,
  )
})

test('a worker that starts with an older file writes and removes nothing, and says so', async () => {
  const { place, other, write, keys } = await twoMachines()
  write(place.config, ['acme', 'globex'])
  const first = startWorker(place)
  await eventually(keys, (names) => names.join() === 'acme,globex')
  write(other.config, ['initech'])
  utimesSync(other.config, new Date(), new Date(Date.now() - 86_400_000))
  const second = startWorker(other, { timings: { reconcileMs: 100 } })
  await second.said(OTHER)

  let looks = 0
  expect(await whileComparing(keys, () => (looks += 1) > 40)).toEqual(['acme,globex'])
  expect(aboutConfiguration(await readiness(second))).toEqual([
    expect.stringContaining('runs on a configuration other than the one accepted'),
  ])
  expect(aboutConfiguration(await readiness(first))).toEqual([])
  // A change of its file is an offer, whatever the content was before.
  write(other.config, ['acme'])
  await eventually(keys, (names) => names.join() === 'acme')
  await first.said(OTHER)
})

test('a job and a tick of an organization that one of two workers does not know wait for the other', async () => {
  const { place, other, write, keys, queues } = await twoMachines()
  write(place.config, ['acme', 'globex'])
  const first = startWorker(place)
  await eventually(keys, (names) => names.join() === 'acme,globex')
  await Promise.all([first.ran('acme'), first.ran('globex')])
  await first.stop()

  write(other.config, ['acme'])
  utimesSync(other.config, new Date(), new Date(Date.now() - 86_400_000))
  const second = startWorker(other)
  await second.said(OTHER)
  await queues.requestSync('globex', 'manual')
  await second.said(message('organization is not in this configuration yet, its job waits'))
  const [job] = await eventually(
    () => queues.sync.getDelayed(),
    (jobs) => jobs.length > 0,
  )
  const [tick] = (await queues.tick.getDelayed()).filter(({ data }) => data.organization === 'globex')
  await tick?.promote()
  const delayed = await eventually(
    async () => (await queues.tick.getDelayed()).filter(({ attemptsStarted }) => attemptsStarted > 0),
    (ticks) => ticks.length > 0,
  )
  const knowing = startWorker(place)
  await knowing.ran('globex')

  expect(job?.data).toEqual({ organization: 'globex' })
  expect(job?.attemptsMade).toBe(0)
  expect(delayed.map(({ id }) => id)).toEqual([tick?.id])
  // The schedule goes on meanwhile.
  expect(await keys()).toEqual(['acme', 'globex'])
})

/** Two folders with a file each, for one queue and one mirror. */
async function twoMachines() {
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
async function whileComparing(keys: () => Promise<string[]>, isEnough: () => boolean): Promise<string[]> {
  const seen = new Set<string>()
  await eventually(async () => void seen.add((await keys()).join()), isEnough)
  return [...seen]
}

/** How often a worker has found mistakes in its file; it looks whenever it compares schedules. */
function mistakes({ lines }: ReturnType<typeof startWorker>): number {
  return lines.filter((line) => line.includes('configuration has mistakes')).length
}

function aboutConfiguration({ problems }: { problems: string[] }): string[] {
  return problems.filter((problem) => problem.includes('configuration'))
}

async function readiness(worker: ReturnType<typeof startWorker>): Promise<{ status: number; problems: string[] }> {
  const { http = '' } = await worker.said(({ http: origin }) => origin !== undefined)
  const response = await fetch(`${http}/readyz`)
  const { problems }: { problems: string[] } = Object(await response.json())
  return { status: response.status, problems }
}
