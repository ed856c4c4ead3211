import { hiddenValues } from '../../../privacy/hidden-values.ts'
import type { Run, RunPrivacy, Start } from '../../../run.ts'
import type { StoredPrivacy } from '../../../store.ts'
import type { Connection } from '../opening/database.ts'
import { renewLease } from '../run/lease.ts'
import { forgetReading } from '../organizations/organization-tables.ts'
import { FIRST_TABLE } from '../../hidden-rows.ts'
import {
  changeOfPolicy,
  listedPolicy,
  policyOfRun,
  runPrivacy,
  storedPolicy,
  type PolicyColumns,
  type StoredPolicy,
} from '../../rules/policy-of-rows.ts'
import { rewriteSome } from './rewrite-hidden.ts'
import { statement } from '../statement.ts'

/**
 * Compares the policy of a run with that of the stored values. If it is another one, the memory of the list is emptied, since every
 * record must be read again, and the values are rewritten by `applyPrivacy`. The caller holds the transaction.
 */
export function startPrivacy(db: Connection, { organization, privacy }: Start): RunPrivacy | undefined {
  const stored = findPolicy(db, organization)
  const ofRun = policyOfRun(privacy, stored)
  if (ofRun === undefined) return undefined
  const { policy, isOther } = ofRun
  if (!isOther) return runPrivacy(policy, stored)
  // Nothing is left of the digests of pages and records as they were sent.
  forgetReading(db, organization)
  beginRewriting(db, organization, changeOfPolicy(policy, stored))
  return runPrivacy(policy, findPolicy(db, organization))
}

function beginRewriting(db: Connection, organization: string, change: ReturnType<typeof changeOfPolicy>): void {
  const { isRewritten, from, to, unfilled, lacking } = change
  if (!isRewritten || !hasRows(db, organization)) return storeApplied(db, organization, to, unfilled)
  statement(
    db,
    `REPLACE INTO privacy_policies (organization, policy, next_policy, next_table, next_row, unfilled, is_unpurged)
     VALUES (?, ?, ?, ?, 0, ?, 1)`,
  ).run(organization, from, to, FIRST_TABLE, lacking)
}

function hasRows(db: Connection, organization: string): boolean {
  const rows = ['customers WHERE', 'changes WHERE', 'rejects WHERE', 'runs WHERE error IS NOT NULL AND']
  return rows.some(
    (from) => statement(db, `SELECT 1 FROM ${from} organization = ? LIMIT 1`).get(organization) !== undefined,
  )
}

/** Nothing is stored that another policy would have stored otherwise. */
function storeApplied(db: Connection, organization: string, policy: string, unfilled: string): void {
  statement(
    db,
    `INSERT INTO privacy_policies (organization, policy, unfilled) VALUES (?, ?, ?)
     ON CONFLICT (organization) DO UPDATE SET policy = excluded.policy, next_policy = NULL`,
  ).run(organization, policy, unfilled)
}

/** Rewrites some stored values; true while more are left. The caller holds the transaction. */
export function rewritePrivacy(db: Connection, run: Run, nowMs: number): boolean {
  renewLease(db, run, nowMs)
  const { organization, privacy } = run
  const stored = findPolicy(db, organization)
  if (privacy === undefined || stored?.next === undefined) return false
  const hidden = hiddenValues(stored.policy, privacy.policy)
  const next = hidden === undefined ? undefined : rewriteSome(db, run, { hidden, place: stored.place, nowMs })
  if (next !== undefined) {
    const go = statement(db, 'UPDATE privacy_policies SET next_table = ?, next_row = ? WHERE organization = ?')
    go.run(next.table, next.row, organization)
    return true
  }
  statement(
    db,
    `UPDATE privacy_policies SET policy = next_policy, next_policy = NULL, next_table = NULL, next_row = NULL
     WHERE organization = ?`,
  ).run(organization)
  return false
}

/** To be called once the file holds the old values no more. */
export function notePurged(db: Connection): void {
  statement(db, 'UPDATE privacy_policies SET is_unpurged = 0 WHERE next_policy IS NULL').run()
}

/**
 * To be called when a run has read the list to its end, whatever it proved. From then on a value that takes the place of NULL is a change: a
 * list that is never proven would have none for ever, and readers of the changes would miss them.
 */
export function noteFilled(db: Connection, { organization, privacy }: Run): void {
  if (privacy === undefined || privacy.unfilled.length === 0) return
  statement(db, `UPDATE privacy_policies SET unfilled = '[]' WHERE organization = ?`).run(organization)
}

/** The policy of each organization that has one; while values are rewritten, the one they will follow. */
export function listPrivacy(db: Connection): StoredPrivacy[] {
  const list = 'SELECT * FROM privacy_policies ORDER BY organization'
  return statement<[], PolicyColumns & { organization: string }>(db, list).all().map(listedPolicy)
}

function findPolicy(db: Connection, organization: string): StoredPolicy | undefined {
  const find = 'SELECT * FROM privacy_policies WHERE organization = ?'
  const row = statement<[string], PolicyColumns>(db, find).get(organization)
  return row && storedPolicy(row)
}
