import { expect, onTestFinished, test } from 'vitest'
import { pause, readPauses, resume, watchPauses } from '../../jobs/pauses.ts'
import { ALL, pauseOf } from '../../src/model/pause.ts'
import { aGate, aSandbox, organizationsOf } from '../support/workplace.ts'
import { isEmbedded, someQueues, aJobsWorkplace } from '../support/jobs-workplace.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { message, readiness, startWorker } from '../support/worker-log.ts'

test('a paused organization starts no run, and keeps no job; resumed, it is made up for once', async () => {
  const { place, inQueue } = await aPausedPlace()
  await inQueue(({ values }) => pause(values, ['acme'], { nowMs: Date.now(), untilMs: undefined }))
  const worker = startWorker(place)
  await worker.ran('globex')
  await worker.stop()
  const before = rowsOf(place.mirror, 'SELECT organization, status FROM runs')
  const jobs = await inQueue(({ queues }) => queues.sync.getJobCounts('delayed', 'waiting', 'active', 'failed'))
  await inQueue(({ values }) => resume(values, ['acme'], Date.now()))
  const next = startWorker(place)
  await next.ran('acme')
  await next.stop()

  expect(before).toEqual([{ organization: 'globex', status: 'complete' }])
  expect(jobs).toEqual({ delayed: 0, waiting: 0, active: 0, failed: 0 })
  expect(rowsOf(place.mirror, `SELECT status FROM runs WHERE organization = 'acme'`)).toEqual([{ status: 'complete' }])
})

test('many organizations are paused in the time that one takes', async () => {
  const names = Array.from({ length: 500 }, (_, n) => `organization-${n}`)
  const writing: (() => void)[] = []
  // None is answered before all are asked for.
  const write = () =>
    new Promise<void>((done) => {
      if (writing.push(done) === names.length) for (const each of writing) each()
    })
  const paused = await pause({ list: async () => new Map(), write }, names, { nowMs: 1, untilMs: undefined })

  expect(paused).toHaveLength(names.length)
})

test('a pause ends by itself, also where its end was said later', async () => {
  const { place, inQueue } = await aPausedPlace()
  const untilMs = Date.now() + 400
  const pauseUntil = (ms: number | undefined) =>
    inQueue(({ values }) => pause(values, [ALL], { nowMs: Date.now(), untilMs: ms }))
  await pauseUntil(isEmbedded ? untilMs : undefined)
  const worker = startWorker(place)
  if (!isEmbedded) {
    await worker.said(message('worker started'))
    await pauseUntil(untilMs)
  }
  await worker.ran('acme')
  await worker.ran('globex')

  expect((await readiness(worker))['paused']).toBeUndefined()
  const started = rowsOf(place.mirror, 'SELECT started_at AS started FROM runs').map((run) => String(run['started']))
  expect(started).toHaveLength(2)
  for (const at of started) expect(Date.parse(`${at.replace(' ', 'T')}Z`)).toBeGreaterThanOrEqual(untilMs)
})

test.skipIf(isEmbedded)('a run under way ends at a pause, and the next is put off until all are resumed', async () => {
  const gate = aGate({ fromPage: 2 })
  const { place, inQueue } = await aPausedPlace({ customers: [250, 3], intercept: gate.intercept })
  const worker = startWorker(place)
  await gate.reached
  await inQueue(({ values }) => pause(values, [ALL], { nowMs: Date.now(), untilMs: undefined }))
  gate.open()
  await worker.ran('acme')
  await inQueue(({ queues }) => queues.request('sync', 'acme', 'schedule'))
  await worker.said(({ msg, organization }) => msg === 'run put off' && organization === 'acme')
  const { ready, paused } = await readiness(worker)
  const runs = valueOf(place.mirror, `SELECT count(*) FROM runs WHERE organization = 'acme'`)
  await inQueue(({ values }) => resume(values, [ALL], Date.now()))
  const jobs = () => inQueue(({ queues }) => queues.sync.getJobCountByTypes('delayed', 'waiting', 'active'))
  await expect.poll(jobs).toBe(0)

  expect({ ready, runs }).toEqual({ ready: true, runs: 1 })
  expect(paused).toMatchObject([{ organization: 'acme', until: null }, { organization: 'globex' }])
})

test('a pause is seen once, holds with that of all of them, and all are paused again, the one that was resumed too', async () => {
  const NOW = 1_000_000
  const kept = new Map<string, string>()
  const values = { list: async () => kept, write: async (name: string, value: string) => void kept.set(name, value) }
  const ofAcme = async (nowMs: number) => pauseOf(await readPauses(values), 'acme', nowMs)
  let changes = 0
  const watch = watchPauses({ values, lookMs: 9e6, now: () => NOW, onChange: () => void (changes += 1) })
  onTestFinished(watch.stop)
  for (let look = 0; look < 4; look += 1) {
    if (look === 2) await pause(values, [ALL], { nowMs: NOW, untilMs: undefined })
    await watch.latest()
    expect(changes).toBe(look < 2 ? 0 : 1)
  }
  const changed = await pause(values, ['acme'], { nowMs: NOW + 5, untilMs: NOW + 10 })
  await resume(values, ['acme'], NOW + 10)
  const between = await ofAcme(NOW + 10)
  await pause(values, [ALL], { nowMs: NOW + 20, untilMs: undefined })

  const open = { sinceMs: NOW, untilMs: undefined }
  expect(changed).toEqual([{ name: 'acme', before: open, now: open }])
  expect(between).toBeUndefined()
  expect(await ofAcme(NOW + 20)).toMatchObject({ untilMs: undefined })
})

type Opened = Awaited<ReturnType<typeof someQueues>>
type Queue = Pick<Opened, 'queues'> & Opened['backend']

/** A folder for a worker, and how to work in its queue while no worker runs. */
async function aPausedPlace(options: Parameters<typeof aSandbox>[0] = { customers: [5, 3] }) {
  const place = aJobsWorkplace(organizationsOf(await aSandbox(options)))
  /** An embedded queue is open in one place at a time. */
  async function inQueue<Result>(work: (queue: Queue) => Promise<Result>): Promise<Result> {
    const { backend, queues, close } = await someQueues(place.queue, place.mirror)
    try {
      return await work({ queues, ...backend })
    } finally {
      await close()
    }
  }
  return { place, inQueue }
}
