import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { CancellableJobs } from '../../../jobs/run/cancellations.ts'
import { listCancellations, type Cancellation } from '../../../jobs/run/cancellations.ts'
import { eventually } from '../../support/eventually.ts'

const ACME = { id: 'acme.2', data: { organization: 'acme' } }

test('a cancel ends the job that it names, with an error that says so', async () => {
  const { jobs, cancel } = aWorker()
  const run = jobs.during(ACME, untilCancelled)
  cancel('acme', ['acme.2'])

  await expect(run).resolves.toMatchObject({ code: 'cancelled', message: expect.stringContaining('acme: cancelled') })
})

test('a cancel of an earlier job ends no later one, and none of another organization', async () => {
  const { jobs, cancel, looks } = aWorker()
  cancel('acme', ['acme.1'])
  cancel('globex', ['acme.2'])
  const ended = Promise.withResolvers<void>()
  const run = jobs.during(ACME, async (cancelled) => {
    await ended.promise
    return cancelled.aborted
  })
  await eventually(looks, (number) => number > 2)
  ended.resolve()

  expect(await run).toBe(false)
})

test('a job that comes from another worker is cancelled although that was asked before it started here', async () => {
  const { jobs, cancel } = aWorker({ lookMs: 3_600_000 })
  cancel('acme', ['acme.2'])

  await expect(jobs.during(ACME, untilCancelled)).resolves.toMatchObject({ code: 'cancelled' })
})

test('the queue is asked only while jobs are under way, and a queue that does not answer ends none', async () => {
  let looks = 0
  const list = async () => {
    looks += 1
    throw new Error('lost')
  }
  const jobs = new CancellableJobs({ list, lookMs: 1 })
  const aborted = await jobs.during(ACME, async (cancelled) => {
    await eventually(
      () => looks,
      (number) => number > 2,
    )
    return cancelled.aborted
  })
  const asked = looks
  for (let turn = 0; turn < 20; turn += 1) await nextTurn()

  expect(aborted).toBe(false)
  expect(looks).toBe(asked)
})

test('values of a newer version are left out and named', async () => {
  const good = { jobs: ['acme.1'], askedAtMs: 1, untilMs: 2 }
  const values = new Map([
    ['cancel:acme', JSON.stringify(good)],
    ['cancel:globex', '{"jobs":"all of them"}'],
    ['cancel:initech', 'not JSON'],
  ])
  const unreadable: string[] = []
  const found = await listCancellations({ list: async () => values }, (name) => unreadable.push(name))

  expect([...found]).toEqual([['acme', good]])
  expect(unreadable).toEqual(['cancel:globex', 'cancel:initech'])
})

function aWorker({ lookMs = 1 } = {}) {
  const asked = new Map<string, Cancellation>()
  let looks = 0
  const list = async () => {
    looks += 1
    return asked
  }
  return {
    jobs: new CancellableJobs({ list, lookMs }),
    cancel: (organization: string, jobs: string[]) => asked.set(organization, { jobs, askedAtMs: 0, untilMs: 0 }),
    looks: () => looks,
  }
}

/** Work that ends only by a cancel, with its reason. */
function untilCancelled(cancelled: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (cancelled.aborted) resolve(cancelled.reason)
    cancelled.addEventListener('abort', () => resolve(cancelled.reason), { once: true })
  })
}
