import { expect, test } from 'vitest'
import { openMirror } from '../../src/store/mirror.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import type { SentRecord } from '../support/builders.ts'
import { aMirrorFile, rowsOf, valueOf } from '../support/mirror-file.ts'
import { isThere, openReader } from '../support/mirror-reader.ts'
import { seeds } from '../support/seeds.ts'
import { dice } from '../support/dice.ts'
import { changingList, listedSource, mirroring } from '../support/listed-source.ts'
import { childProgram, killedAfter } from '../support/run-cli.ts'

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
