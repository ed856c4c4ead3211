import { onTestFinished } from 'vitest'
import { openOrganizations } from '../../src/store/mirror.ts'
import type { Organizations } from '../../src/model/organizations.ts'
import { customerId, customers, START_MS } from '../support/builders.ts'
import { aMirror, type Row, rowsOf, tamper } from '../support/mirror-file.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { withPlayedLeasesOf } from '../support/postgres/played-leases.ts'
import { DAY_MS, night } from './nights.ts'

/** A moment after the nights of `aMirrorWithEverything`. */
export const CLOCKS = { nowMs: START_MS + 9 * DAY_MS, monotonicMs: 1_000_000 }

/** The organizations of a mirror, open until the test ends. */
export async function organizationsOf(file: string): Promise<Organizations> {
  const organizations = await openOrganizations(file)
  onTestFinished(() => organizations.close())
  return onPostgres ? withPlayedLeasesOf(organizations, file) : organizations
}

/** Every table of the schema with a column `organization`. */
function tablesByOrganization(file: string): string[] {
  const sql = `SELECT name FROM sqlite_schema WHERE type = 'table'
    AND EXISTS (SELECT 1 FROM pragma_table_info(sqlite_schema.name) WHERE name = 'organization') ORDER BY name`
  return rowsOf(file, sql).map(({ name }) => String(name))
}

/** The number of rows of an organization in each such table. */
export function countsOf(file: string, organization: string): Record<string, number> {
  const counted = tablesByOrganization(file).map((table) => [
    table,
    Number(rowsOf(file, `SELECT COUNT(*) AS n FROM ${table} WHERE organization = ?`, organization)[0]?.['n']),
  ])
  return Object.fromEntries(counted)
}

/** All that the mirror holds of an organization, without its name. */
export function contentsOf(file: string, organization: string): Record<string, Row[]> {
  const contents = tablesByOrganization(file).map((table) => [
    table,
    rowsOf(file, `SELECT * FROM ${table} WHERE organization = ?`, organization)
      .map(({ organization: _name, updated_at: _moved, ...row }) => row)
      // A store may return rows in another order once they were written again.
      .toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)),
  ])
  return Object.fromEntries(contents)
}

/**
 * A mirror in which acme and acme-two have rows in every table with an organization: customers that are active, missing and
 * removed, one that is forgotten, changes, an open reject, held removals, and a list as last read.
 */
export async function aMirrorWithEverything() {
  const mirror = await aMirror()
  for (const organization of ['acme', 'acme-two']) {
    const list = [...customers(1, 60), { id: 'no UUID', note: `rejected by ${organization}` }]
    await night(mirror, 0, list, { organization })
    await night(mirror, 1, list.slice(2), { organization })
    await night(mirror, 2, list.slice(2), { organization })
    await night(mirror, 3, [...list.slice(3), ...customers(61, 61)], { organization })
    await night(mirror, 4, [...customers(1, 2), list.at(-1)], { organization })
    await mirror.forgetCustomer({ organization, id: customerId(40), ...CLOCKS })
    fillInternal(mirror.file, organization)
  }
  return mirror
}

/** Tables that a run fills only under rare circumstances. */
function fillInternal(file: string, organization: string): void {
  const run = `(SELECT MAX(id) FROM runs WHERE organization = '${organization}')`
  for (const sql of [
    `REPLACE INTO lists VALUES ('${organization}', ${run}, 'a reader', x'01000000', x'00', '{"warnings":[{}]}', NULL, NULL)`,
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
