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
import type { RunPrivacy, Start } from '../../../run.ts'
import { FIRST_TABLE, type Place } from '../../hidden-rows.ts'
import { forgetList } from '../lists.ts'
import type { Session } from '../session.ts'
import { forgetWindows } from '../windows.ts'

/** The policy that the stored values follow, as a row of `privacy_policies`. */
export type PolicyRow = {
  policy: string
  next_policy: string | null
  next_table: string | null
  next_row: number | null
  unfilled: string
  is_unpurged: boolean
}

/** What a run does about privacy, and whether the memory of the list was emptied for it. */
export type StartedPrivacy = { privacy: RunPrivacy | undefined; isEmptied: boolean }

const NO_POLICY = privacyPolicy({})

/**
 * Compares the policy of a run with that of the stored values. If it is another one, the memory of the list is emptied, since every
 * record must be read again, and the values are rewritten by `applyPrivacy`. The caller holds the transaction.
 */
export async function startPrivacy(
  session: Session,
  { organization, privacy }: Start,
  row: PolicyRow | undefined,
): Promise<StartedPrivacy> {
  const stored = row && storedIn(row)
  if (privacy === 'unreadable') return { privacy: undefined, isEmptied: false }
  const policy = privacy ?? NO_POLICY
  const target = stored?.next ?? stored?.policy ?? NOTHING_HIDDEN
  if (stored === undefined && isSamePolicy(policy, NOTHING_HIDDEN)) return { privacy: undefined, isEmptied: false }
  const isEmptied = !isSamePolicy(policy, target)
  if (isEmptied) {
    await forgetMemory(session, organization)
    await beginRewriting(session, organization, { stored, policy })
  }
  const now = isEmptied ? await storedPrivacy(session, organization) : stored
  return {
    isEmptied,
    privacy: {
      policy,
      hidden: hiddenValues(NOTHING_HIDDEN, policy),
      storedAs: now?.next === undefined ? undefined : now.policy,
      unfilled: now?.unfilled ?? [],
      isUnpurged: now?.isUnpurged ?? false,
    },
  }
}

type StoredPolicy = {
  policy: HiddenFields
  next: HiddenFields | undefined
  place: Place
  unfilled: readonly string[]
  isUnpurged: boolean
}

/** The policy of an organization; undefined if nothing of it was ever hidden. */
export async function storedPrivacy(session: Session, organization: string): Promise<StoredPolicy | undefined> {
  const find = 'SELECT * FROM privacy_policies WHERE organization = $1'
  const row = await session.first<PolicyRow>(find, organization)
  return row && storedIn(row)
}

/** The policy in a row. */
export function storedIn(row: PolicyRow): StoredPolicy {
  const policy: HiddenFields = JSON.parse(row.policy)
  const next: HiddenFields | null = JSON.parse(row.next_policy ?? 'null')
  const unfilled: string[] = JSON.parse(row.unfilled)
  const place = { table: row.next_table ?? FIRST_TABLE, row: row.next_row ?? 0 }
  return { policy, next: next ?? undefined, place, unfilled, isUnpurged: row.is_unpurged }
}

/** The next run reads every record, and nothing is left of the digests of pages and records as they were sent. */
async function forgetMemory(session: Session, organization: string): Promise<void> {
  await forgetList(session, organization)
  await session.run('DELETE FROM list_chunks WHERE organization = $1', organization)
  await session.run('DELETE FROM list_windows WHERE organization = $1', organization)
  await forgetWindows(session, organization)
}

async function beginRewriting(
  session: Session,
  organization: string,
  { stored, policy }: { stored: StoredPolicy | undefined; policy: PrivacyPolicy },
): Promise<void> {
  const { policy: before = NOTHING_HIDDEN, next, unfilled = [] } = stored ?? {}
  // An interrupted change left some values under one policy, and some under the other.
  const from = next === undefined ? before : mixedPolicy(before, next)
  const hidden = hiddenValues(from, policy)
  if (hidden === undefined || !(await hasRows(session, organization))) {
    return await storeApplied(session, organization, policy, unfilled)
  }
  const lacking = [...new Set([...unfilled, ...hidden.unfilled])]
  await session.run(
    `INSERT INTO privacy_policies (organization, policy, next_policy, next_table, next_row, unfilled, is_unpurged)
     VALUES ($1, $2, $3, $4, 0, $5, true)
     ON CONFLICT (organization) DO UPDATE SET policy = excluded.policy, next_policy = excluded.next_policy,
       next_table = excluded.next_table, next_row = excluded.next_row, unfilled = excluded.unfilled,
       is_unpurged = excluded.is_unpurged`,
    ...[organization, JSON.stringify(storedForm(from)), JSON.stringify(storedForm(policy)), FIRST_TABLE],
    JSON.stringify(lacking),
  )
}

async function hasRows(session: Session, organization: string): Promise<boolean> {
  const row = await session.first<{ has_rows: boolean }>(
    `SELECT EXISTS (SELECT FROM customers WHERE organization = $1) OR EXISTS (SELECT FROM changes WHERE organization = $1)
       OR EXISTS (SELECT FROM rejects WHERE organization = $1)
       OR EXISTS (SELECT FROM runs WHERE error IS NOT NULL AND organization = $1) AS has_rows`,
    organization,
  )
  return row?.has_rows === true
}

/** Nothing is stored that another policy would have stored otherwise. */
async function storeApplied(
  session: Session,
  organization: string,
  policy: PrivacyPolicy,
  unfilled: readonly string[],
): Promise<void> {
  await session.run(
    `INSERT INTO privacy_policies (organization, policy, unfilled) VALUES ($1, $2, $3)
     ON CONFLICT (organization) DO UPDATE SET policy = excluded.policy, next_policy = NULL`,
    organization,
    JSON.stringify(storedForm(policy)),
    JSON.stringify(unfilled),
  )
}
