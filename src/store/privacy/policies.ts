import { hiddenValues } from '../../privacy/hidden-values.ts'
import type { Run, RunPrivacy, Start } from '../../run.ts'
import type { Mirror, StoredPrivacy } from '../../store.ts'
import { isOurs } from '../../errors/errors.ts'
import { FIRST_TABLE, HOLDING_TABLES, type Place, rewriteSome } from './rewrite-hidden.ts'
import { sql, text } from '../port/sql.ts'
import type { Session, Store } from '../port/store.ts'
import { renewLease } from '../runs/lease.ts'
import { forgetReading } from '../runs/windows.ts'
import {
  type HiddenFields,
  isSamePolicy,
  mixedPolicy,
  NOTHING_HIDDEN,
  privacyPolicy,
  type PrivacyPolicy,
  storedForm,
} from '../../privacy/privacy-policy.ts'

/** The verbs of a mirror that hide stored values. */
export function privacyVerbs(store: Store): Pick<Mirror, 'applyPrivacy' | 'listPrivacy'> {
  return {
    applyPrivacy: async (run, nowMs) => {
      if (!isPrivacyOwed(run)) return false
      if (await store.write((session) => rewritePrivacy(session, run, nowMs), { securely: true })) return true
      if (await isPurged(store)) await store.write(notePurged)
      return false
    },
    listPrivacy: () => store.read(listPrivacy),
  }
}

/** Whether the old values are gone. If not, the run is as good without, and the next one tries again. */
async function isPurged(store: Store): Promise<boolean> {
  try {
    return await store.purge(HOLDING_TABLES)
  } catch (error) {
    if (isOurs(error)) return false
    throw error
  }
}

/** Compares the policy of a run with the stored one. If it is another, every record is read again, and `applyPrivacy` rewrites the values. */
export async function startPrivacy(
  session: Session,
  { organization, privacy }: Start,
  stored: StoredPolicy | undefined,
): Promise<RunPrivacy | undefined> {
  const ofRun = policyOfRun(privacy, stored)
  if (ofRun === undefined) return undefined
  const { policy, isOther } = ofRun
  if (!isOther) return runPrivacy(policy, stored)
  // Nothing is left of the digests of pages and records as they were sent.
  await forgetReading(session, organization)
  await beginRewriting(session, organization, changeOfPolicy(policy, stored))
  return runPrivacy(policy, await findPolicy(session, organization))
}

async function beginRewriting(
  session: Session,
  organization: string,
  { isRewritten, from, to, unfilled, lacking }: ReturnType<typeof changeOfPolicy>,
) {
  const owes = isRewritten && (await hasRows(session, organization))
  const [policy, next, table, row, left] = owes ? [from, to, FIRST_TABLE, 0, lacking] : [to, null, null, null, unfilled]
  const others = owes
    ? sql`next_table = excluded.next_table, next_row = excluded.next_row, unfilled = excluded.unfilled, is_unpurged = true,`
    : sql``
  await session.run(sql`
    INSERT INTO privacy_policies (organization, policy, next_policy, next_table, next_row, unfilled, is_unpurged)
    VALUES (${organization}, ${policy}, ${next}, ${table}, ${row}, ${left}, ${owes})
    ON CONFLICT (organization) DO UPDATE SET ${others} policy = excluded.policy, next_policy = excluded.next_policy`)
}

async function hasRows(session: Session, organization: string): Promise<boolean> {
  for (const from of ['customers WHERE', 'changes WHERE', 'rejects WHERE', 'runs WHERE error IS NOT NULL AND'])
    if ((await session.first(sql`SELECT 1 FROM ${text(from)} organization = ${organization} LIMIT 1`)) !== undefined)
      return true
  return false
}

async function rewritePrivacy(session: Session, run: Run, nowMs: number): Promise<boolean> {
  await renewLease(session, run, nowMs)
  const { organization, privacy } = run
  const stored = await findPolicy(session, organization)
  if (privacy === undefined || stored?.next === undefined) return false
  const hidden = hiddenValues(stored.policy, privacy.policy)
  const next =
    hidden === undefined ? undefined : await rewriteSome(session, run, { hidden, place: stored.place, nowMs })
  if (next === undefined)
    await session.run(sql`
      UPDATE privacy_policies SET policy = next_policy, next_policy = NULL, next_table = NULL, next_row = NULL
      WHERE organization = ${organization}`)
  else
    await session.run(sql`
      UPDATE privacy_policies SET next_table = ${next.table}, next_row = ${next.row} WHERE organization = ${organization}`)
  return next !== undefined
}

async function notePurged(session: Session) {
  await session.run(sql`UPDATE privacy_policies SET is_unpurged = false WHERE next_policy IS NULL`)
}

/** A run has read the list to its end: from then on a value that takes the place of NULL is a change. */
export async function noteFilled(session: Session, { organization, privacy }: Run) {
  if (privacy === undefined || privacy.unfilled.length === 0) return
  await session.run(sql`UPDATE privacy_policies SET unfilled = '[]' WHERE organization = ${organization}`)
}

/** The policy of each organization that has one; while values are rewritten, the one they will follow. */
async function listPrivacy(session: Session): Promise<StoredPrivacy[]> {
  const rows = await session.all<PolicyColumns & { organization: string }>(
    sql`SELECT * FROM privacy_policies ORDER BY organization`,
  )
  return rows.map(listedPolicy)
}

/** The policy that the stored values of an organization follow; undefined if none was ever hidden. */
export async function findPolicy(session: Session, organization: string): Promise<StoredPolicy | undefined> {
  const row = await session.first<PolicyColumns>(
    sql`SELECT * FROM privacy_policies WHERE organization = ${organization}`,
  )
  return row && storedPolicy(row)
}

type PolicyColumns = {
  policy: string
  next_policy: string | null
  next_table: string | null
  next_row: number | null
  unfilled: string
  is_unpurged: boolean | number
}

/** The same; while values are rewritten, `next` is the policy that they will follow, and `place` is how far that is. */
type StoredPolicy = {
  policy: HiddenFields
  next: HiddenFields | undefined
  place: Place
  unfilled: readonly string[]
  isUnpurged: boolean
}

function storedPolicy(row: PolicyColumns): StoredPolicy {
  const policy: HiddenFields = JSON.parse(row.policy)
  const next: HiddenFields | null = JSON.parse(row.next_policy ?? 'null')
  const unfilled: string[] = JSON.parse(row.unfilled)
  const place = { table: row.next_table ?? FIRST_TABLE, row: row.next_row ?? 0 }
  return { policy, next: next ?? undefined, place, unfilled, isUnpurged: Boolean(row.is_unpurged) }
}

/** The policy in a row, as it is listed: while values are rewritten, the one that they will follow. */
function listedPolicy(row: PolicyColumns & { organization: string }): StoredPrivacy {
  const { policy, next, isUnpurged } = storedPolicy(row)
  const left = next ? 'values' : isUnpurged ? 'free space' : 'nothing'
  return { organization: row.organization, policy: next ?? policy, left }
}

/** The policy of a run that begins, and whether the stored values are to follow another one; undefined if none hides anything. */
function policyOfRun(
  privacy: Start['privacy'],
  stored: StoredPolicy | undefined,
): { policy: PrivacyPolicy; isOther: boolean } | undefined {
  if (privacy === 'unreadable') return undefined
  const policy = privacy ?? NO_POLICY
  if (stored === undefined && isSamePolicy(policy, NOTHING_HIDDEN)) return undefined
  return { policy, isOther: !isSamePolicy(policy, stored?.next ?? stored?.policy ?? NOTHING_HIDDEN) }
}

const NO_POLICY = privacyPolicy({})

/** What is stored of a change to another policy, as JSON; `isRewritten`: some stored values may differ under it. */
function changeOfPolicy(
  policy: PrivacyPolicy,
  stored: StoredPolicy | undefined,
): { isRewritten: boolean; from: string; to: string; unfilled: string; lacking: string } {
  const { policy: before = NOTHING_HIDDEN, next, unfilled = [] } = stored ?? {}
  // An interrupted change left some values under one policy, and some under the other.
  const from = next === undefined ? before : mixedPolicy(before, next)
  const hidden = hiddenValues(from, policy)
  return {
    isRewritten: hidden !== undefined,
    from: JSON.stringify(storedForm(from)),
    to: JSON.stringify(storedForm(policy)),
    unfilled: JSON.stringify(unfilled),
    lacking: JSON.stringify([...new Set([...unfilled, ...(hidden?.unfilled ?? [])])]),
  }
}

/** Whether stored values of the run's organization are to be rewritten, or old ones may still stand in free space. */
function isPrivacyOwed({ privacy }: Pick<Run, 'privacy'>): boolean {
  return privacy?.storedAs !== undefined || privacy?.isUnpurged === true
}

/** What a run of this policy does about privacy, where this is stored. */
function runPrivacy(policy: PrivacyPolicy, stored: StoredPolicy | undefined): RunPrivacy {
  return {
    policy,
    hidden: hiddenValues(NOTHING_HIDDEN, policy),
    storedAs: stored?.next === undefined ? undefined : stored.policy,
    unfilled: stored?.unfilled ?? [],
    isUnpurged: stored?.isUnpurged ?? false,
  }
}
