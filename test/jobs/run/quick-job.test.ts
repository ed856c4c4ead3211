import { DelayedError } from 'bullmq'
import { expect, test } from 'vitest'
import { runForJob, type NoRunOfJob, type RunOfJob } from '../../../jobs/run/run-job.ts'
import { TIMINGS } from '../../../jobs/timings.ts'
import type { SandboxOptions } from '../../../src/service/sandbox.ts'
import { FAR_AWAY } from '../../support/jobs-workplace.ts'
import { aMirror } from '../../support/mirror-file.ts'
import { configured, syncSandbox } from '../../support/mirrored-sandbox.ts'
import { aSandbox } from '../../support/workplace.ts'

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
  const organization = configured(sandbox, {
    schedule: Object({ ...FAR_AWAY, spreadMs: 0, quick: '*/15 * * * *' }),
  })
  const start = (kind: 'sync' | 'quick', job: object) =>
    runForJob(
      kind,
      Object({ data: { organization: 'acme' }, opts: {}, updateProgress: async () => {}, ...job }),
      undefined,
      { lost: undefined, cancelled: new AbortController().signal },
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
  return { sandbox, mirror, start, quick, ends }
}
