import { DelayedError } from 'bullmq'
import { expect, test } from 'vitest'
import { runForJob, type NoRunOfJob, type RunOfJob } from '../../../jobs/run/run-job.ts'
import { TIMINGS } from '../../../jobs/timings.ts'
import { isForGood } from '../../../src/errors/error-facts.ts'
import { Cancelled } from '../../../src/errors/errors.ts'
import { generateCustomers } from '../../../src/service/customers.ts'
import type { SandboxOptions } from '../../../src/service/sandbox.ts'
import { FAR_AWAY } from '../../support/jobs-workplace.ts'
import { aMirror, rowsOf, valueOf } from '../../support/mirror-file.ts'
import { configured, syncSandbox } from '../../support/mirrored-sandbox.ts'
import { aSandbox } from '../../support/workplace.ts'

test('a quick run saves who came and marks who left as missing, and the list was read no later', async () => {
  const { sandbox, mirror, quick, ends } = await mirrored()
  const readAsOf = valueOf(mirror.file, 'SELECT read_as_of FROM freshness')
  const [first] = sandbox.organization('acme').customers
  sandbox.organization('acme').delete(first?.id ?? '')
  for (const customer of generateCustomers({ seed: 'came', count: 2 })) sandbox.organization('acme').insert(customer)

  await quick()

  expect(ends).toEqual(['complete'])
  expect(rowsOf(mirror.file, 'SELECT inserted, missing, removed FROM runs ORDER BY id DESC LIMIT 1')).toEqual([
    { inserted: 2, missing: 1, removed: 0 },
  ])
  expect(rowsOf(mirror.file, 'SELECT active, missing, read_as_of FROM freshness')).toEqual([
    { active: 402, missing: 1, read_as_of: readAsOf },
  ])
})

test('a quick run of an organization that another run has is dropped: no run, no error', async () => {
  const { mirror, quick, ends } = await mirrored()
  await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: Date.now() })

  await quick()

  expect(ends).toEqual(['drop'])
  expect(valueOf(mirror.file, 'SELECT count(*) FROM runs')).toBe(2)
})

test('a quick run that was refused fails once, and the next ones wait for a full run, unless a person asks', async () => {
  let isRefused = false
  const { sandbox, mirror, quick, ends } = await mirrored({
    intercept: async (_context, next) => (isRefused ? new Response('{}', { status: 403 }) : next()),
  })
  isRefused = true
  await expect(quick()).rejects.toThrow(/^forbidden: /)
  await quick()
  await expect(quick('manual')).rejects.toThrow(/^forbidden: /)
  isRefused = false
  await syncSandbox(sandbox, mirror)
  await quick()

  expect(ends).toEqual(['give-up', 'refused', 'give-up', 'complete'])
})

test('a quick run that a person cancels is dropped, and the next one is made', async () => {
  const { quick, ends, cancel, mirror } = await mirrored()
  cancel.abort(new Cancelled('acme: made up'))

  await expect(quick()).rejects.toThrow('cancelled: acme: made up')
  expect(ends).toEqual(['drop'])
  expect(valueOf(mirror.file, 'SELECT error_code FROM runs ORDER BY id DESC LIMIT 1')).toBe('cancelled')
  expect(isForGood('cancelled')).toBe(false)
})

test('a job of an organization that no worker has is left to the others, and given up after twenty starts', async () => {
  const { start, ends } = await mirrored()
  const startUmbrella = (attemptsStarted: number) =>
    start('sync', { attemptsStarted, data: { organization: 'umbrella' }, moveToDelayed: async () => {} })
  await expect(startUmbrella(20)).rejects.toThrow(DelayedError)
  await expect(startUmbrella(21)).rejects.toThrow('no longer in the configuration')

  expect(ends).toEqual(['another-configuration', 'give-up'])
})

/** A mirror of 400 customers that were read to the end, and quick jobs for them. */
async function mirrored(options: SandboxOptions = {}) {
  const sandbox = await aSandbox({ customers: [400], ...options })
  const mirror = await aMirror()
  await syncSandbox(sandbox, mirror)
  const ends: string[] = []
  const cancel = new AbortController()
  const organization = configured(sandbox, {
    schedule: Object({ ...FAR_AWAY, spreadMs: 0, quick: '*/15 * * * *' }),
  })
  const start = (kind: 'sync' | 'quick', job: object) =>
    runForJob(
      kind,
      Object({ data: { organization: 'acme' }, opts: {}, updateProgress: async () => {}, ...job }),
      undefined,
      { lost: undefined, cancelled: cancel.signal },
      {
        ...{ mirror, organizationOf: (id: string) => (id === 'acme' ? organization : undefined) },
        ...{ rateLimits: new Map(), sharedTurns: undefined },
        queues: Object({ sync: { getDeduplicationJobId: async () => null } }),
        values: { read: async () => undefined },
        listener: {
          onEvent: () => {},
          onAnswer: () => {},
          onRun: ({ verdict }: RunOfJob) => void ends.push(verdict.kind),
          onNoRun: ({ why }: NoRunOfJob) => void ends.push(why),
        },
        end: () => {},
        pauses: { latest: async () => new Map() },
        stop: new AbortController().signal,
        ...{ timings: TIMINGS, now: Date.now, monotonicMs: Date.now, random: Math.random },
      },
    )
  const quick = (name: 'schedule' | 'manual' = 'schedule') => start('quick', { name })
  return { sandbox, mirror, start, quick, ends, cancel }
}
