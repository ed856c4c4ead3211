import { expect, test } from 'vitest'
import type { Mirror, Organizations } from '../../src/store/mirror.ts'
import { CLOCKS, type Night, night, organizationsOf } from './nights.ts'
import { aCustomer, customerId, customers } from '../support/builders.ts'
import { aPlayedMirror, dump, type Row, rowsOf, tamper, valueOf, withReader } from '../support/mirror-file.ts'
import { storedText } from '../support/mirror-reader.ts'

const RENAME = { from: 'acme', to: 'acme.eu' }
/** A retirement and a forget that was not finished are states of their own; the lease is one that was left behind. */
const EMPTY_AT_FIRST = ['retired_organizations', 'unfinished_forgets']

test('every row of every table has the new name, and nothing else of it differs', async () => {
  const { file } = await aPlayedMirror(withEverything)
  const [before, others] = [contentsOf(file, 'acme'), contentsOf(file, 'acme-two')]
  const newest = valueOf(file, 'SELECT max(updated_at) FROM customers')
  const lacking = Object.keys(before).filter((table) => before[table]?.length === 0)

  const renamed = await (await organizationsOf(file)).rename(RENAME, CLOCKS)

  // The test is of use only if there is something of each table.
  expect(lacking.toSorted()).toEqual(EMPTY_AT_FIRST)
  expect(contentsOf(file, 'acme.eu')).toEqual({ ...before, leases: [] })
  expect(Object.values(countsOf(file, 'acme')).every((count) => count === 0)).toBe(true)
  expect(contentsOf(file, 'acme-two')).toEqual(others)
  expect(renamed).toEqual({ customers: 60, changes: before['changes']?.length, runs: 5 })
  expect(rowsOf(file, 'PRAGMA foreign_key_check')).toEqual([])
  const isOlder = `SELECT count(*) FROM customers WHERE organization = 'acme.eu' AND updated_at <= ?`
  expect(valueOf(file, isOlder, newest)).toBe(0)
})

/** What was done to a mirror with everything before a request that is refused. */
type Before = (mirror: Mirror, organizations: Organizations) => Promise<unknown>
const filled = (list: readonly unknown[], told: Night = {}): Before => {
  return (mirror) => night(mirror, 5, list, { organization: 'acme.eu', ...told })
}
const running = (organization: string): Before => {
  return (mirror) => mirror.startRun({ organization, trigger: 'sync', nowMs: CLOCKS.nowMs })
}
const rename = (them: Organizations) => them.rename(RENAME, CLOCKS)
const retire = (them: Organizations) => them.retire('acme', CLOCKS)
const forget = (them: Organizations) => them.forget('acme', CLOCKS)
const IS_THERE = /^acme\.eu: is in the mirror already/
const leased = (id: string, verb: string) =>
  new RegExp(`^${id}: run \\d+ \\(process .+\\) is mirroring it now, so it cannot be ${verb}`)

test.each<[what: string, before: Before, act: (them: Organizations) => Promise<unknown>, code: string, said: RegExp]>([
  ['rename to an id that has customers', filled(customers(1, 2)), rename, 'usage', IS_THERE],
  ['rename to an id with an empty list that was read to its end', filled([]), rename, 'usage', IS_THERE],
  ['rename to an id with rejects', filled([null], { ending: { status: 'failed' } }), rename, 'usage', IS_THERE],
  ['rename during a run', running('acme'), rename, 'leased', leased('acme', 'renamed')],
  ['rename during a run of the new id', running('acme.eu'), rename, 'leased', leased('acme.eu', 'renamed')],
  ['retire during a run', running('acme'), retire, 'leased', leased('acme', 'retired')],
  ['forget during a run', running('acme'), forget, 'leased', leased('acme', 'forgotten')],
  ['retire twice', (_, them) => retire(them), retire, 'usage', /^acme: is retired already, since 2026-01-14 02:00 UTC/],
])('a request to %s is refused, and nothing is changed', async (_, prepare, act, code, said) => {
  const mirror = await aPlayedMirror(withEverything)
  const organizations = await organizationsOf(mirror.file)
  await prepare(mirror, organizations)
  const before = dump(mirror.file)

  await expect(act(organizations)).rejects.toMatchObject({ code, message: expect.stringMatching(said) })
  expect(dump(mirror.file)).toEqual(before)
})

test('nothing is left of it: no row in any table, and no byte in the file or beside it', async () => {
  const { file } = await aPlayedMirror(withEverything)
  expect(storedText(file)).toContain('acme-two')
  const others = contentsOf(file, 'acme')

  expect(await (await organizationsOf(file)).forget('acme-two', CLOCKS)).toBe(true)

  // It stands in every customer and every record of it, and in the values of earlier nights.
  expect(storedText(file)).not.toContain('acme-two')
  expect(Object.values(countsOf(file, 'acme-two')).every((count) => count === 0)).toBe(true)
  // Windows name their run, and hold ids of rejects: those of acme alone are left.
  expect(valueOf(file, 'SELECT count(*) FROM windows')).toBe(1)
  expect(contentsOf(file, 'acme')).toEqual(others)
  expect(rowsOf(file, 'PRAGMA foreign_key_check')).toEqual([])
  expect(valueOf(file, 'PRAGMA integrity_check')).toBe('ok')
})

const RETIRED_AT = '2026-01-14 02:00:00.000'

test('every customer leaves active_customers with a change, and nothing is deleted', async () => {
  const { file } = await aPlayedMirror(withEverything)
  const left = `UPDATE customers SET removed_at = '2026-01-12 02:00:00.000' WHERE organization = 'acme' AND id = ?`
  tamper(file, left, customerId(50))
  const [before, others] = [countsOf(file, 'acme'), contentsOf(file, 'acme-two')]
  const active = valueOf(file, `SELECT COUNT(*) FROM active_customers WHERE organization = 'acme'`)
  const lastSeq = valueOf(file, 'SELECT MAX(seq) FROM changes')

  const retired = await (await organizationsOf(file)).retire('acme', CLOCKS)

  expect(retired).toEqual({ removed: active })
  expect(rowsOf(file, `SELECT 1 FROM active_customers WHERE organization = 'acme'`)).toEqual([])
  const lastRun = valueOf(file, `SELECT MAX(id) FROM runs WHERE organization = 'acme'`)
  const fed = `SELECT organization, change, run_id, changed_at, COUNT(*) AS n FROM changes WHERE seq > ? GROUP BY 1, 2, 3, 4`
  const change = { organization: 'acme', change: 'removed', run_id: lastRun, changed_at: RETIRED_AT, n: active }
  expect(rowsOf(file, fed, lastSeq)).toEqual([change])
  const removed = 'removed_at = ? AND NOT is_active AND last_run_id = ? AND updated_at > ?'
  const marked = `SELECT COUNT(*) FROM customers WHERE organization = 'acme' AND ${removed}`
  expect(valueOf(file, marked, RETIRED_AT, lastRun, '2026-01-10')).toBe(active)
  expect(contentsOf(file, 'acme-two')).toEqual(others)
  const after = countsOf(file, 'acme')
  for (const table of ['customers', 'runs', 'rejects']) expect(after[table], table).toBe(before[table])

  // What only a next run would need is gone.
  const internal = ['leases', 'lists', 'list_columns', 'edited_customers', 'held_rows', 'absences']
  expect(internal.filter((table) => after[table] !== 0)).toEqual([])
  expect(rowsOf(file, `SELECT 1 FROM windows JOIN runs ON runs.id = run_id WHERE organization = 'acme'`)).toEqual([])
  const rejects = rowsOf(file, `SELECT resolved_at FROM rejects WHERE organization = 'acme'`)
  expect(rejects).toEqual([{ resolved_at: RETIRED_AT }])
  expect(rowsOf(file, 'PRAGMA foreign_key_check')).toEqual([])
})

function countsOf(file: string, organization: string): Record<string, number> {
  return Object.fromEntries(Object.entries(contentsOf(file, organization)).map(([table, rows]) => [table, rows.length]))
}

/** All that the mirror holds of an organization, without its name, by each table of the schema with a column `organization`. */
function contentsOf(file: string, organization: string): Record<string, Row[]> {
  const sql = `SELECT name FROM sqlite_schema WHERE type = 'table'
    AND EXISTS (SELECT 1 FROM pragma_table_info(sqlite_schema.name) WHERE name = 'organization') ORDER BY name`
  return withReader(file, (reader) => {
    const tables = reader.all<{ name: string }>(sql).map(({ name }) => [
      name,
      reader
        .all(`SELECT * FROM ${name} WHERE organization = ?`, organization)
        .map(({ organization: _name, updated_at: _moved, ...row }) => row)
        // A store may return rows in another order once they were written again.
        .toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)),
    ])
    return Object.fromEntries(tables)
  })
}

/** Acme and acme-two have rows in every table with an organization: customers of each state, one of them forgotten, and all else. */
async function withEverything(mirror: Mirror) {
  for (const organization of ['acme', 'acme-two']) {
    const note = `of ${organization}`
    const list = [...customers(1, 60, { note }), { id: 'no UUID', note }]
    await night(mirror, 0, list, { organization })
    await night(mirror, 1, list.slice(2), { organization })
    await night(mirror, 2, list.slice(2), { organization })
    await night(mirror, 3, [...list.slice(3), aCustomer(61)], { organization })
    await night(mirror, 4, [...customers(1, 2), list.at(-1)], { organization })
    await mirror.forgetCustomer({ organization, id: customerId(40), ...CLOCKS })
    fillInternal(mirror.file, organization)
  }
}

/** Tables that a run fills only under rare circumstances. */
function fillInternal(file: string, organization: string): void {
  const run = `(SELECT MAX(id) FROM runs WHERE organization = '${organization}')`
  for (const sql of [
    `REPLACE INTO lists VALUES ('${organization}', ${run}, 'a reader', '{"warnings":[{}]}', NULL, NULL)`,
    `REPLACE INTO list_columns VALUES ('${organization}', 0, x'01000000', x'00', x'', x'', x'')`,
    `REPLACE INTO edited_customers (organization, row_id) VALUES ('${organization}', 7)`,
    `REPLACE INTO leases (organization, run_id, holder, expires_at_ms)
       VALUES ('${organization}', ${run}, 'gone', 0)`,
    `REPLACE INTO privacy_policies (organization, policy)
       VALUES ('${organization}', '{"drop":[],"hash":[],"mixed":[],"keyCheck":null}')`,
    `REPLACE INTO horizons (organization, pruned_seq, feed_seq) VALUES ('${organization}', 0, 0)`,
    `REPLACE INTO windows (run_id, start, size, per_page, beyond_end, row_ids, rejected)
       VALUES (${run}, 0, 100, 100, FALSE, x'00000000', '["${customerId(7)}"]')`,
  ])
    tamper(file, sql)
}
