import { expect, test } from 'vitest'
import { describeError } from '../../../src/errors/errors.ts'
import { openDatabase } from '../../../src/store/postgres/open-database.ts'
import { mirrorOf } from '../../../src/store/open-postgres.ts'
import type { Ending, Run } from '../../../src/model/run.ts'
import type { SortedPage } from '../../../src/model/page.ts'
import type { Mirror } from '../../../src/model/mirror.ts'
import { inSqlite } from '../../support/both-stores.ts'
import { breakable } from '../../support/breaking-connections.ts'
import { aCustomer, anEnding, aPage, customerId, MINUTE_MS, START_MS } from '../../support/builders.ts'
import { dice, type Dice } from '../../support/dice.ts'
import { pgliteConnections, startPglite } from '../../support/pglite-connections.ts'
import { anEmptyMirror } from '../../support/postgres/emptied.ts'
import { tamper } from '../../support/mirror-file.ts'
import { seeds } from '../../support/seeds.ts'

/* The store in a file looks every customer up, so what it holds after the same calls is what the one in PostgreSQL is to hold. */

const IDS = 9

/** The numbers of runs are left out: one that was rolled back burns its own. */
const HELD = [
  'SELECT row_id, id, name, extra, first_seen_at, changed_at, missing_since, removed_at FROM customers ORDER BY row_id',
  'SELECT id, change, fields, at FROM changes ORDER BY at, id, change, seq',
  'SELECT record_key, page, position, reasons, first_seen_at, seen_at, resolved_at FROM rejects ORDER BY record_key, seen_at, page',
  'SELECT row_id FROM edited_customers ORDER BY row_id',
  'SELECT status, pages, received, inserted, updated, unchanged, duplicates, rejected, removed, returned FROM runs ORDER BY id',
]

test('random first runs, with edits by hand and lost answers between, leave the same as in a file', async () => {
  const seen = { duplicates: 0, rejected: 0, returned: 0, updated: 0, edits: 0 }
  for (let seed = 1; seed <= seeds(100, { least: 4, every: 25 }); seed += 1) {
    const chance = dice(seed)
    const line = breakable(pgliteConnections(await startPglite()))
    const database = await openDatabase(await anEmptyMirror(), 'write', { connect: () => line.connections })
    const here = mirrorOf(database)
    const { file, mirror: there, rows } = await inSqlite({})

    for (let night = 1; night <= 2; night += 1) {
      const nowMs = START_MS + night * MINUTE_MS
      const start = { organization: 'acme', trigger: 'sync', nowMs } as const
      const [ours, theirs] = [await here.startRun(start), await there.startRun(start)]
      for (let batch = 0; batch < 4; batch += 1) {
        if (chance.chance(0.5)) {
          const sql = randomEdit(chance)
          await database.write((session) => session.run(sql))
          tamper(file, sql)
          seen.edits += 1
        }
        if (chance.chance(0.3)) line.breakAt('COMMIT', chance.pick(['before', 'after']))
        const pages = randomPages(chance, batch)
        await saveInTime(here, ours, pages, nowMs)
        await there.savePages(theirs, pages, nowMs)
        expect({ seed, night, batch, ...saved(ours) }).toEqual({ seed, night, batch, ...saved(theirs) })
      }
      const removals = { rule: { after: 1, maxShare: 1 }, confirmed: new Set<string>() }
      const ending = anEnding(chance.chance(0.3) ? { status: 'interrupted' } : { proof: 'proven', removals })
      const { returned, rejected, duplicates, updated } = await end(here, ours, ending, nowMs)
      await end(there, theirs, ending, nowMs)
      seen.returned += returned
      seen.rejected += rejected
      seen.duplicates += duplicates
      seen.updated += updated
      for (const sql of HELD)
        expect({ seed, night, rows: await database.read((session) => session.all(sql)) }).toEqual({
          seed,
          night,
          rows: rows(sql),
        })
    }
  }
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0)
})

/** As a run does whose customers were deleted by hand. */
async function end(mirror: Pick<Mirror, 'finishRun'>, run: Run, ending: Ending, nowMs: number) {
  return mirror.finishRun(run, ending, nowMs).catch((error: unknown) => {
    expect(error).toMatchObject({ code: 'replaced' })
    return mirror.finishRun(run, anEnding({ status: 'failed', error: describeError(error) }), nowMs)
  })
}

/** As a run does while its server is gone. */
async function saveInTime(mirror: Pick<Mirror, 'savePages'>, run: Run, pages: SortedPage[], nowMs: number) {
  const save = () => mirror.savePages(run, pages, nowMs)
  return save().catch(save)
}

function saved({ pages, records, warnings, seen, written, rejectedIds }: Run) {
  return { pages, records, warnings, seen: [...seen], written: [...written], rejectedIds }
}

/**
 * In a first run nothing keeps a file from taking a customer twice, and then the run says so. The highest row stays: a file gives its number
 * to the next customer, and PostgreSQL does not.
 */
function randomEdit(chance: Dice): string {
  const id = customerId(1 + chance.below(IDS))
  const at = '2026-01-01 00:00:00.000'
  const inserted = (above: number, removedAt: string) =>
    `INSERT INTO customers (row_id, organization, id, name, first_seen_at, changed_at, updated_at, removed_at, last_run_id)
     SELECT coalesce(max(row_id), 0) + ${above}, 'acme', '${id}', 'By hand', '${at}', '${at}', '${at}', ${removedAt},
       (SELECT max(id) FROM runs) FROM customers WHERE organization = 'acme'
     HAVING NOT EXISTS (SELECT 1 FROM customers WHERE id = '${id}')`
  return chance.pick([
    `UPDATE customers SET name = 'By hand' WHERE id = '${id}'`,
    `DELETE FROM customers WHERE id = '${id}' AND row_id < (SELECT max(row_id) FROM customers)`,
    inserted(1, 'NULL'),
    inserted(7, 'NULL'),
    inserted(1, `'${at}'`),
  ])
}

function randomPages(chance: Dice, batch: number): SortedPage[] {
  return Array.from({ length: 1 + chance.below(3) }, (_, index) =>
    aPage(
      batch * 3 + index + 1,
      Array.from({ length: chance.below(6) }, () => randomRecord(1 + chance.below(IDS), chance)),
    ),
  )
}

function randomRecord(n: number, chance: Dice): unknown {
  const id = chance.chance(0.3) ? customerId(n).toUpperCase() : customerId(n)
  return chance.pick([
    aCustomer(n, { id }),
    aCustomer(n, { id, vip: chance.below(2) }),
    aCustomer(n, { id, email: {} }),
    {},
  ])
}
