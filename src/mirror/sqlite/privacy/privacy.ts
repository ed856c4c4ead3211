import { hiddenValues } from '../../../hidden-values.ts'
import {
  isSamePolicy,
  mixedPolicy,
  NOTHING_HIDDEN,
  privacyPolicy,
  storedForm,
  type HiddenFields,
  type PrivacyPolicy,
} from '../../../privacy-policy.ts'
import type { Run, RunPrivacy, Start } from '../../../run.ts'
import type { StoredPrivacy } from '../../../store.ts'
import type { Connection } from '../database.ts'
import { renewLease } from '../lease.ts'
import { forgetList } from '../lists.ts'
import { FIRST_TABLE, type Place } from '../../hidden-rows.ts'
import { rewriteSome } from './rewrite-hidden.ts'
import { statement } from '../statement.ts'
import { forgetWindows } from '../windows.ts'

/**
 * Compares the policy of a run with that of the stored values. If it is another one, the memory of the list is emptied, since every
 * record must be read again, and the values are rewritten by `applyPrivacy`. The caller holds the transaction.
 */
export function startPrivacy(db: Connection, { organization, privacy }: Start): RunPrivacy | undefined {
  const stored = storedPrivacy(db, organization)
  if (privacy === 'unreadable') return undefined
  const policy = privacy ?? NO_POLICY
  const target = stored?.next ?? stored?.policy ?? NOTHING_HIDDEN
  if (stored === undefined && isSamePolicy(policy, NOTHING_HIDDEN)) return undefined
  if (!isSamePolicy(policy, target)) {
    forgetMemory(db, organization)
    beginRewriting(db, organization, { stored, policy })
  }
  const now = storedPrivacy(db, organization)
  return {
    policy,
    hidden: hiddenValues(NOTHING_HIDDEN, policy),
    storedAs: now?.next === undefined ? undefined : now.policy,
    unfilled: now?.unfilled ?? [],
    isUnpurged: now?.isUnpurged ?? false,
  }
}

const NO_POLICY = privacyPolicy({})

type Stored = {
  policy: HiddenFields
  next: HiddenFields | undefined
  place: Place
  unfilled: readonly string[]
  isUnpurged: boolean
}

function beginRewriting(
  db: Connection,
  organization: string,
  { stored, policy }: { stored: Stored | undefined; policy: PrivacyPolicy },
): void {
  const { policy: before = NOTHING_HIDDEN, next, unfilled = [] } = stored ?? {}
  // An interrupted change left some values under one policy, and some under the other.
  const from = next === undefined ? before : mixedPolicy(before, next)
  const hidden = hiddenValues(from, policy)
  if (hidden === undefined || !hasRows(db, organization)) return storeApplied(db, organization, policy, unfilled)
  const lacking = [...new Set([...unfilled, ...hidden.unfilled])]
  statement(
    db,
    `REPLACE INTO privacy_policies (organization, policy, next_policy, next_table, next_row, unfilled, is_unpurged)
     VALUES (?, ?, ?, ?, 0, ?, 1)`,
  ).run(
    organization,
    JSON.stringify(storedForm(from)),
    JSON.stringify(storedForm(policy)),
    FIRST_TABLE,
    JSON.stringify(lacking),
  )
}

function hasRows(db: Connection, organization: string): boolean {
  const rows = ['customers WHERE', 'changes WHERE', 'rejects WHERE', 'runs WHERE error IS NOT NULL AND']
  return rows.some(
    (from) => statement(db, `SELECT 1 FROM ${from} organization = ? LIMIT 1`).get(organization) !== undefined,
  )
}

/** Nothing is stored that another policy would have stored otherwise. */
function storeApplied(db: Connection, organization: string, policy: PrivacyPolicy, unfilled: readonly string[]): void {
  statement(
    db,
    `INSERT INTO privacy_policies (organization, policy, unfilled) VALUES (?, ?, ?)
     ON CONFLICT (organization) DO UPDATE SET policy = excluded.policy, next_policy = NULL`,
  ).run(organization, JSON.stringify(storedForm(policy)), JSON.stringify(unfilled))
}

/** The next run reads every record, and nothing is left of the digests of pages and records as they were sent. */
function forgetMemory(db: Connection, organization: string): void {
  forgetList(db, organization)
  for (const table of ['list_chunks', 'list_windows'])
    statement(db, `DELETE FROM ${table} WHERE organization = ?`).run(organization)
  forgetWindows(db, organization)
}

/** Rewrites some stored values; true while more are left. The caller holds the transaction. */
export function rewritePrivacy(db: Connection, run: Run, nowMs: number): boolean {
  renewLease(db, run, nowMs)
  const { organization, privacy } = run
  const stored = storedPrivacy(db, organization)
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

/** To be called when a run has read the whole list: every value that could be filled in is there. */
export function noteFilled(db: Connection, { organization, privacy }: Run): void {
  if (privacy === undefined || privacy.unfilled.length === 0) return
  statement(db, `UPDATE privacy_policies SET unfilled = '[]' WHERE organization = ?`).run(organization)
}

/** The policy of each organization that has one; while values are rewritten, the one they will follow. */
export function listPrivacy(db: Connection): StoredPrivacy[] {
  const organizations = statement<[], string>(db, 'SELECT organization FROM privacy_policies ORDER BY 1').pluck().all()
  return organizations.flatMap((organization) => {
    const stored = storedPrivacy(db, organization)
    if (stored === undefined) return []
    const { policy, next, isUnpurged } = stored
    return [{ organization, policy: next ?? policy, left: next ? 'values' : isUnpurged ? 'free space' : 'nothing' }]
  })
}

type Columns = {
  policy: string
  next_policy: string | null
  next_table: string | null
  next_row: number | null
  unfilled: string
  is_unpurged: number
}

function storedPrivacy(db: Connection, organization: string): Stored | undefined {
  const find = 'SELECT * FROM privacy_policies WHERE organization = ?'
  const row = statement<[string], Columns>(db, find).get(organization)
  if (row === undefined) return undefined
  const policy: HiddenFields = JSON.parse(row.policy)
  const next: HiddenFields | null = JSON.parse(row.next_policy ?? 'null')
  const unfilled: string[] = JSON.parse(row.unfilled)
  const place = { table: row.next_table ?? FIRST_TABLE, row: row.next_row ?? 0 }
  return { policy, next: next ?? undefined, place, unfilled, isUnpurged: row.is_unpurged === 1 }
}
