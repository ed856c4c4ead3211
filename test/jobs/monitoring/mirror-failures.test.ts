import { expect, test } from 'vitest'
import { examine, MirrorFailures, noticesOf } from '../../../jobs/monitoring/health.ts'
import { MirrorUnusable, SourceUnavailable } from '../../../src/errors/errors.ts'
import { isoTime } from '../../../src/time/moments.ts'
import { aFreshness } from '../../support/metrics.ts'

const NOW_MS = Date.UTC(2026, 2, 5, 2)
const FULL = new MirrorUnusable('/data/customers.db: the disk is full.', { code: 'full' })
const LOCKED = new MirrorUnusable('/data/customers.db: is locked by another program.', { code: 'busy' })
const AWAY = new SourceUnavailable('503', { code: 'server-error' })

test('a worker whose runs cannot use the mirror is not ready, and says which and why', async () => {
  const failures = noted(
    ['acme', LOCKED],
    ['globex', LOCKED],
    ['initech', FULL],
    ['hooli', AWAY],
    ['umbrella', undefined],
  )

  expect(await problemsOf(failures)).toEqual([
    `the mirror could not be used (busy), last at ${isoTime(NOW_MS)}, by runs of acme, globex: see the log of the worker`,
    `the mirror could not be used (full), last at ${isoTime(NOW_MS)}, by runs of initech: see the log of the worker`,
  ])
})

test.each<[how: string, after: Parameters<typeof noted>, reads: number[], paused: string[], isOver: boolean]>([
  ['while nothing follows', [], [], [], false],
  ['with a run that failed for another reason', [['acme', AWAY]], [], [], true],
  ['with a run that another worker completed', [], [NOW_MS + 60_000], [], true],
  ['with no run that began before it', [], [NOW_MS - 60_000], [], false],
  ['while it is paused', [], [], ['acme'], true],
])('the failure of an organization by the mirror, %s', async (_how, after, reads, paused, isOver) => {
  const failures = noted(['acme', FULL], ...after)

  expect(await problemsOf(failures, { reads, paused })).toHaveLength(isOver ? 0 : 1)
  // The page says the same as /readyz.
  expect(await noticesOf({ configuration: [], mirrorFailures: failures, ...around({ reads, paused }) })).toHaveLength(
    isOver ? 0 : 1,
  )
})

function noted(...ends: [organization: string, error: unknown][]): MirrorFailures {
  const failures = new MirrorFailures(() => NOW_MS)
  for (const [organization, error] of ends) failures.note({ organization, outcome: { error } })
  return failures
}

type Around = { reads?: number[]; paused?: string[] }

async function problemsOf(mirrorFailures: MirrorFailures, asked: Around = {}): Promise<string[]> {
  const { problems } = await examine({ write: async () => {}, workers: [], mirrorFailures, ...around(asked) })
  return problems
}

function around({ reads = [], paused = [] }: Around) {
  const ids = ['acme', 'globex', 'initech', 'hooli', 'umbrella']
  const pause = { sinceMs: NOW_MS, untilMs: undefined, resumedMs: undefined }
  return {
    organizations: ids.map((id) => ({ id, schedule: undefined, seenAtMs: undefined })),
    mirror: {
      listHeldRemovals: async () => [],
      listUncountedFreshness: async () => reads.map((atMs) => aFreshness('acme', atMs)),
    },
    pauses: new Map(paused.map((id) => [id, pause])),
    nowMs: NOW_MS + 120_000,
  }
}
