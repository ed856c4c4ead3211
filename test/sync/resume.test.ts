import { expect, test } from 'vitest'
import { below, seededRandom, type ServiceCustomer } from '../../src/service/customers.ts'
import type { Sandbox } from '../../src/service/sandbox.ts'
import { newcomers } from '../../src/service/scenarios/scenario.ts'
import { openMirror, type Mirror } from '../../src/store/mirror.ts'
import { mirrorOrganization, type Outcome } from '../../src/sync/mirror-organization.ts'
import { MINUTE_MS, type SentRecord } from '../support/builders.ts'
import { aMirror, aMirrorFile, rowsOf, valueOf } from '../support/mirror-file.ts'
import { isThere, openReader } from '../support/mirror-reader.ts'
import { activeIds, goneIds, syncSandbox } from '../support/mirrored-sandbox.ts'
import { seeds, someOf } from '../support/seeds.ts'
import { aSandbox } from '../support/workplace.ts'
import { dice } from '../support/dice.ts'
import { changingList, listedSource, mirroring } from '../support/listed-source.ts'
import { childProgram, killedAfter } from '../support/run-cli.ts'

/** 1,050 customers take twelve overlapping windows. */
const WINDOWS = Array.from({ length: 12 }, (_, index) => index + 1)
const DOWNTIMES = ['nothing', 'inserts', 'deletes', 'both'] as const
type Downtime = (typeof DOWNTIMES)[number]

/** Unread customers are removed at once, so that the mirror shows which customers both parts of a scan have read. */
const STRICT = { removals: { after: 1, maxShare: 0.1 } }

const STOPS = DOWNTIMES.flatMap((downtime) => WINDOWS.slice(0, -1).map((window) => ({ window, downtime })))

test.each(someOf(STOPS, { every: 25 }))(
  'stopped after window $window of 12, and $downtime in the downtime: exact, proven, and nothing read more than twice',
  async ({ window, downtime }) => {
    const { sandbox, mirror, part } = await aMirroredList()
    const stop = new AbortController()
    const onProgress = ({ pages }: { pages: number }) => void (pages === window && stop.abort())

    const first = await part({ concurrency: 1, signal: stop.signal, onProgress })
    expect(first.outcome.report).toMatchObject({ status: 'interrupted', requests: window, pages: window })
    change(sandbox, downtime, window)
    const second = await part({})

    expect(second.outcome.report).toMatchObject({ status: 'complete', proof: 'proven', reasons: [], held: 0 })
    await expectExact({ sandbox, mirror, parts: [first, second] })
    // The ends of the list are read once more.
    if (downtime === 'nothing') expect(first.windows.length + second.windows.length).toBeLessThanOrEqual(14)
  },
)

type Window = { page: number; per_page: number }
/** A run: the windows it was answered, and the list it read, which stood still meanwhile. */
type Part = { windows: Window[]; list: readonly ServiceCustomer[] }

/** A thousand customers in a sandbox, mirrored the night before. */
async function aMirroredList() {
  const sandbox = await aSandbox({ organizations: 1 })
  const mirror = await aMirror()
  const night = await syncSandbox(sandbox, mirror, { now: () => Date.now() - 10 * MINUTE_MS })
  expect(night.report).toMatchObject({ proof: 'proven', inserted: 1050 })
  const hand = sandbox.organization('acme')

  async function part(settings: Parameters<typeof syncSandbox>[2]): Promise<Part & { outcome: Outcome }> {
    const before = hand.requests.length
    const list = [...hand.customers]
    const outcome = await syncSandbox(sandbox, mirror, { ...STRICT, ...settings })
    // Searches before a removal read no part of the list.
    const windows = hand.requests.slice(before).filter(({ status, search }) => status === 200 && search === '')
    return { windows, list, outcome }
  }
  return { sandbox, mirror, part }
}

/** Changes of the list during the downtime, the same for the same seed. */
function change(sandbox: Sandbox, downtime: Downtime, seed: number): void {
  const hand = sandbox.organization('acme')
  const random = seededRandom(`downtime ${seed}`)
  const newcomer = newcomers(`downtime ${seed}`)
  const anyCustomer = () => hand.customers[below(random, hand.customers.length)]
  for (let count = 0; count < 9; count += 1) {
    if (downtime === 'deletes' || downtime === 'both') hand.delete(anyCustomer()?.id ?? '')
    if (downtime === 'inserts' || downtime === 'both') hand.insert(newcomer(anyCustomer()?.created_at ?? ''))
  }
}

/** The mirror shows exactly the customers that the parts have read; they include every customer that was listed all the time. */
async function expectExact(told: { sandbox: Sandbox; mirror: Mirror; parts: readonly Part[] }): Promise<void> {
  const { sandbox, mirror, parts } = told
  const read = new Set(parts.flatMap(({ windows, list }) => windows.flatMap((window) => idsIn(window, list))))
  expect(activeIds(mirror)).toEqual(read)
  expectNoneLost(sandbox, mirror)
  const times = Map.groupBy(
    parts.flatMap(({ windows }) => windows),
    ({ page, per_page }) => `page ${page} of ${per_page}`,
  )
  expect([...times].filter(([, asked]) => asked.length > 2).map(([window]) => window)).toEqual([])
  const reader = await openMirror(mirror.file)
  expect(await reader.findDamage()).toEqual([])
  await reader.close()
}

/** Every customer that was listed all the time is active, and no listed customer is missing or removed. */
function expectNoneLost(sandbox: Sandbox, mirror: Mirror): void {
  const truth = sandbox.truth('acme')
  expect(truth.lived({ changes: 0 }).difference(activeIds(mirror))).toEqual(new Set())
  expect(goneIds(mirror).intersection(truth.listed())).toEqual(new Set())
}

function idsIn({ page, per_page }: Window, list: readonly ServiceCustomer[]): string[] {
  return list.slice(per_page * (page - 1), per_page * page).map(({ id }) => id)
}

const KILLS = seeds(4, { least: 1 })
const SEEDS = Array.from({ length: seeds(3, { least: 1 }) }, (_, index) => index + 1)
/** More than a child can mirror before it is killed. */
const EDITIONS = 50

/**
 * Each seed takes one mirror through several killed runs. The moment of a kill is so many lines of the child and then so
 * many microseconds, so that it falls anywhere: into the making of the file, a transaction, a commit, a checkpoint.
 */
test.each(SEEDS)(
  'a run killed at any instant leaves a sound mirror, and the next run completes it (seed %d)',
  async (seed) => {
    const file = aMirrorFile()
    const random = dice(seed)

    for (let kill = 1; kill <= KILLS; kill += 1) {
      const lines = kill === 1 ? 1 + random.below(3) : 1 + random.below(30)
      const killed = killedAfter(childProgram('mirror', file, String(EDITIONS * kill)), {
        lines,
        microseconds: random.below(4000),
      })
      expect(await killed).toEqual([null, 'SIGKILL'])
      expectSound(file)
      // Sometimes a run that was killed is followed by another that will be.
      if (kill % 2 === 0 || kill === KILLS) await expectConverges(file, EDITIONS * (kill + 1) - 1)
    }
  },
)

async function expectConverges(file: string, edition: number): Promise<void> {
  const list = changingList(edition)
  const mirror = await openMirror(file)
  const settings = { pageSize: 100, resumeWithinMs: 0 }
  const { report, error } = await mirrorOrganization(mirroring(mirror, listedSource(list), settings))
  await mirror.close()

  expect(error).toBeUndefined()
  expect(report).toMatchObject({ status: 'complete', received: list.length, rejected: 2 })
  expectSound(file)
  expectHolds(file, list)
}

/** The promises to readers, before any repair. */
function expectSound(file: string): void {
  if (!isThere(file)) return
  const reader = openReader(file, { isWriting: true })
  try {
    expect(reader.value('PRAGMA integrity_check')).toBe('ok')
    if (reader.value(`SELECT 1 FROM sqlite_schema WHERE name = 'runs'`) === undefined) return
    expect(reader.all('PRAGMA foreign_key_check')).toEqual([])
  } finally {
    reader.close()
  }
  const count = (sql: string) => valueOf(file, `SELECT ${sql}`)
  expect(rowsOf(file, `SELECT id FROM runs WHERE ${NOT_ADDING_UP}`)).toEqual([])
  expect(count('count(*) FROM customers')).toBe(count('coalesce(sum(inserted), 0) FROM runs'))
  expect(rowsOf(file, RUNS_AND_CHANGES_THAT_DIFFER)).toEqual([])
}

/** A run is saved with its rows or not at all, so its numbers and what it left in the other tables always agree. */
const NOT_ADDING_UP = 'received <> inserted + updated + unchanged + duplicates + rejected OR returned > updated'
const RUNS_AND_CHANGES_THAT_DIFFER = `
  SELECT id FROM runs WHERE id > (SELECT min(id) FROM runs WHERE status = 'complete')
  AND (updated <> (SELECT count(*) FROM changes WHERE run_id = runs.id AND change = 'changed')
    OR inserted <> (SELECT count(*) FROM changes WHERE run_id = runs.id AND change = 'added'))`

/** After a run that completed: what the list said, no run under way, and no lease. */
function expectHolds(file: string, list: readonly SentRecord[]): void {
  // A broken record keeps the last good values of its customer, whenever that was.
  const broken = list.find(({ email }) => typeof email !== 'string' && email !== undefined)?.['id']
  const sent = new Map(list.flatMap(({ id, name }) => (id === undefined || id === broken ? [] : [[id, name]])))
  const stored = rowsOf(file, 'SELECT id, name FROM customers WHERE id <> ? ORDER BY id', broken)
  expect(stored).toEqual([...sent].map(([id, name]) => ({ id, name })))
  expect(valueOf(file, `SELECT count(*) FROM runs WHERE status = 'running'`)).toBe(0)
  expect(valueOf(file, 'SELECT count(*) FROM leases')).toBe(0)
}
