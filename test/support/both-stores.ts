import { join } from 'node:path'
import type { PGlite } from '@electric-sql/pglite'
import Sqlite from 'better-sqlite3'
import { onTestFinished } from 'vitest'
import { openMirror } from '../../src/store/mirror.ts'
import type { Connections, Database, ServerSession } from '../../src/store/port/postgres-connections.ts'
import { text } from '../../src/store/port/sql.ts'
import { openDatabase } from '../../src/store/postgres/open-database.ts'
import { dice, type Dice } from './dice.ts'
import { anEmptyMirror, pgliteConnections } from './pglite-connections.ts'
import { temporaryFolder } from './temp-folder.ts'

/** A mirror in a file of SQLite with these rows, whatever store the tests are run on. */
export async function inSqlite(tables: Tables) {
  const file = join(temporaryFolder(), 'customers.db')
  const mirror = await openMirror(file)
  onTestFinished(() => mirror.close())
  const db = new Sqlite(file)
  db.pragma('foreign_keys = OFF')
  for (const [table, rows] of Object.entries(tables))
    for (const row of rows) {
      const names = Object.keys(row)
      db.prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`).run(
        ...Object.values(row),
      )
    }
  onTestFinished(() => void db.close())
  return { file, mirror, rows: (sql: string) => db.prepare<[], Record<string, unknown>>(sql).all() }
}

/** A mirror in PostgreSQL with these rows. */
export async function inPostgres(
  server: PGlite,
  tables: Tables,
  connect: () => Connections = () => pgliteConnections(server),
): Promise<Database> {
  const database = await openDatabase(await anEmptyMirror(), 'write', { connect })
  onTestFinished(() => database.close())
  await database.write(async (session) => {
    for (const [table, rows] of Object.entries(tables)) for (const row of rows) await insertRow(session, table, row)
    // As if the mirror had given the numbers itself.
    for (const [table, column] of [
      ['runs', 'id'],
      ['changes', 'seq'],
      ['rejects', 'reject_id'],
    ])
      await session.run(text(`SELECT setval(pg_get_serial_sequence('${table}', '${column}'), 1000)`))
  })
  return database
}

/** Without the column that PostgreSQL fills in. */
async function insertRow(
  session: ServerSession,
  table: string,
  { is_active: _isActive, ...row }: Record<string, unknown>,
): Promise<void> {
  const names = Object.keys(row)
  await session
    .query(
      `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map((_name, at) => `$${at + 1}`).join(', ')})`,
      ...Object.values(row),
    )
    .then((answer) => answer.count)
}

/** Rows as texts that can be compared, whatever order they came in. */
export function sortedRows(rows: readonly unknown[]): string[] {
  return rows.map((row) => JSON.stringify(row)).toSorted()
}

/** Rows of tables by their names; values in the form of SQLite. */
export type Tables = Record<string, Record<string, unknown>[]>

const ORGANIZATIONS = ['acme', 'Birch', 'Österreich', 'zeta']
const IDS = ['a', 'b', 'c', 'd', 'e'].map((letter) => `${letter.repeat(8)}-0000-4000-8000-000000000000`)
const NAMES = [null, 'Ann', 'Ann "quoted" \\', 'Zoë\n', '']

/**
 * Runs, customers and what became of them, at random: no run would write them so, but whatever reads them must say the same from every
 * store.
 */
export function randomTables(seed: number): Tables {
  const random = dice(seed)
  const organizations = ORGANIZATIONS.filter(() => random.chance(0.8))
  const runs = Array.from({ length: organizations.length === 0 ? 0 : 30 }, (_, index) =>
    aRun(random, index + 1, random.pick(organizations)),
  )
  const customers = organizations.flatMap((organization) =>
    IDS.filter(() => random.chance(0.8)).map((id) => aCustomer(random, organization, id)),
  )
  const changes = Array.from({ length: customers.length === 0 ? 0 : 60 }, (_, index) => {
    const { organization, id } = random.pick(customers)
    return aChange(random, { seq: index + 1, organization, id })
  })
  const some = (share: number) => organizations.filter(() => random.chance(share))
  return {
    runs,
    customers: customers.map((customer, index) => ({ ...customer, row_id: index + 1 })),
    changes,
    rejects: some(0.6).map((organization, index) => aReject(random, organization, index + 1)),
    held_rows: customers.flatMap(({ organization }, index) =>
      runs.length > 0 && random.chance(0.2) ? [{ organization, row_id: index + 1, run_id: random.pick(runs).id }] : [],
    ),
    retired_organizations: some(0.3).map((organization) => ({ organization, retired_at: aTime(random) })),
    horizons: some(0.5).map((organization) => ({
      ...{ organization, pruned_seq: random.below(20), feed_seq: random.below(20) },
      ...{
        history_from: random.chance(0.7) ? `${aTime(random).slice(0, 10)} 00:00:00.000` : null,
        customers_from: null,
      },
    })),
  }
}

/** Some days around the end of a month, and hours around midnight. */
function aTime(random: Dice): string {
  const hour = random.pick(['00', '01', '12', '22', '23'])
  return `2026-0${random.pick(['2-27', '2-28', '3-01', '3-02'])} ${hour}:${10 + random.below(50)}:00.${100 + random.below(900)}`
}

function aRun(random: Dice, id: number, organization: string) {
  const isPartial = random.chance(0.3)
  const status = random.pick(
    isPartial ? ['partial', 'failed', 'running'] : ['complete', 'complete', 'failed', 'waiting'],
  )
  const reasons = [[], ['plain-scan'], ['page-limit'], ['cached-answer', 'moved'], ['moved']]
  return {
    ...{ id, organization, trigger: 'sync', started_at: aTime(random), status, read_as_of: aTime(random) },
    finished_at: status === 'running' ? null : aTime(random),
    proof: random.pick(['proven', 'settled', 'unproven']),
    reasons: JSON.stringify(random.pick(reasons)),
    error_code: status === 'failed' ? random.pick(['unreachable', 'max-run']) : null,
    error: status === 'failed' ? 'It said no.' : null,
    certificate: random.chance(0.3) ? '{"passes": 1}' : null,
    duration_ms: random.chance(0.5) ? random.below(9_000_000_000) : null,
    trusted_pages: isPartial ? random.below(9) : null,
    ...{ inserted: random.below(5), updated: random.below(5), requests: random.below(50), missing: random.below(3) },
  }
}

function aCustomer(random: Dice, organization: string, id: string) {
  const removedAt = random.chance(0.3) ? aTime(random) : null
  return {
    ...{ organization, id, name: random.pick(NAMES), email: random.pick(NAMES) },
    extra: random.pick([null, '{"a": 1}', '{"vat":"x\\u00e4"}']),
    ...{ first_seen_at: aTime(random), changed_at: aTime(random), last_run_id: 1, updated_at: aTime(random) },
    ...{
      missing_since: random.chance(0.3) ? aTime(random) : null,
      removed_at: removedAt,
      is_active: Number(removedAt === null),
    },
  }
}

function aChange(random: Dice, of: { seq: number; organization: string; id: string }) {
  const change = random.pick(['added', 'changed', 'changed', 'removed', 'returned'])
  const before = () => [random.pick(NAMES), random.pick(NAMES)]
  const fields = random.pick([
    { name: before() },
    { email: before(), name: before() },
    { extra: [random.pick([null, '{"a": 0}']), '{"a": 1}'] },
  ])
  return {
    ...{ ...of, run_id: 1 + random.below(30), change, changed_at: aTime(random) },
    fields: change === 'changed' ? JSON.stringify(fields) : random.pick([null, '{ }']),
    missing_since: change === 'removed' && random.chance(0.7) ? aTime(random) : null,
  }
}

function aReject(random: Dice, organization: string, number: number) {
  return {
    ...{
      reject_id: number,
      run_id: 1,
      organization,
      record_id: null,
      record_key: `key ${number}`,
      page: 1,
      position: number,
    },
    ...{ payload: '{"id": "?"}', reasons: '[{"field":"id","message":"no UUID"}]', first_seen_at: aTime(random) },
    ...{ seen_at: aTime(random), resolved_at: random.chance(0.3) ? aTime(random) : null },
  }
}
