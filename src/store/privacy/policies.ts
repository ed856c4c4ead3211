import { hiddenValues } from '../../privacy/hidden-values.ts'
import type { Run, RunPrivacy, Start } from '../../model/run.ts'
import type { Mirror, StoredPrivacy } from '../../model/mirror.ts'
import { isOurs } from '../../errors/errors.ts'
import { FIRST_TABLE, HOLDING_TABLES, rewriteSome } from './rewrite-hidden.ts'
import { replacing } from '../port/fragments.ts'
import { joined, sql, text } from '../port/sql.ts'
import { records, type Session, type Store } from '../port/store.ts'
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
  if (privacy === 'unreadable') return undefined
  const policy = privacy ?? NO_POLICY
  const { policy: before = NOTHING_HIDDEN, nextPolicy: next, unfilled = [] } = stored ?? {}
  if (isSamePolicy(policy, next ?? before)) return stored && runPrivacy(policy, stored)
  // An interrupted change left some values under one policy, and some under the other.
  const from = next === undefined ? before : mixedPolicy(before, next)
  const hidden = hiddenValues(from, policy)
  // Nothing is left of the digests of pages and records as they were sent.
  await forgetReading(session, organization)
  const to = JSON.stringify(storedForm(policy))
  if (hidden !== undefined && (await hasRows(session, organization)))
    await session.run(sql`
      INSERT INTO privacy_policies (organization, policy, next_policy, next_table, next_row, unfilled, is_unpurged)
      VALUES (${organization}, ${JSON.stringify(storedForm(from))}, ${to}, ${FIRST_TABLE}, 0,
        ${JSON.stringify([...new Set([...unfilled, ...hidden.unfilled])])}, ${true})
      ON CONFLICT (organization) ${text(replacing('policy', 'next_policy', 'next_table', 'next_row', 'unfilled', 'is_unpurged'))}`)
  else
    await session.run(sql`
      INSERT INTO privacy_policies (organization, policy) VALUES (${organization}, ${to})
      ON CONFLICT (organization) ${text(replacing('policy', 'next_policy'))}`)
  return runPrivacy(policy, await findPolicy(session, organization))
}

const NO_POLICY = privacyPolicy({})

async function hasRows(session: Session, organization: string): Promise<boolean> {
  const rows = ['customers', 'changes', 'rejects', 'runs'].map((table) => {
    const more = text(table === 'runs' ? 'AND error IS NOT NULL' : '')
    return sql`EXISTS (SELECT 1 FROM ${text(table)} WHERE organization = ${organization} ${more})`
  })
  return (await session.first(sql`SELECT 1 WHERE ${joined(rows, ' OR ')}`)) !== undefined
}

async function rewritePrivacy(session: Session, run: Run, nowMs: number): Promise<boolean> {
  await renewLease(session, run, nowMs)
  const { organization, privacy } = run
  const stored = await findPolicy(session, organization)
  if (privacy === undefined || stored?.nextPolicy === undefined) return false
  const hidden = hiddenValues(stored.policy, privacy.policy)
  const place = { table: stored.nextTable ?? FIRST_TABLE, row: stored.nextRow ?? 0 }
  const next = hidden === undefined ? undefined : await rewriteSome(session, run, { hidden, place, nowMs })
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
  const rows = await records<StoredPolicy>(session, sql`SELECT * FROM privacy_policies ORDER BY organization`)
  return rows.map(({ organization, policy, nextPolicy, isUnpurged }) => {
    const left = nextPolicy === undefined ? (isUnpurged ? 'free space' : 'nothing') : 'values'
    return { organization, policy: nextPolicy ?? policy, left }
  })
}

/** The policy that the stored values of an organization follow; undefined if none was ever hidden. */
export async function findPolicy(session: Session, organization: string): Promise<StoredPolicy | undefined> {
  const find = sql`SELECT * FROM privacy_policies WHERE organization = ${organization}`
  return (await records<StoredPolicy>(session, find))[0]
}

/** A row of `privacy_policies`. While values are rewritten, `nextPolicy` is the one that they will follow, and the rest is how far that is. */
type StoredPolicy = {
  organization: string
  policy: HiddenFields
  nextPolicy: HiddenFields | undefined
  nextTable: string | undefined
  nextRow: number | undefined
  unfilled: readonly string[]
  isUnpurged: boolean
}

function isPrivacyOwed({ privacy }: Pick<Run, 'privacy'>): boolean {
  return privacy?.storedAs !== undefined || privacy?.isUnpurged === true
}

function runPrivacy(policy: PrivacyPolicy, stored: StoredPolicy | undefined): RunPrivacy {
  return {
    policy,
    hidden: hiddenValues(NOTHING_HIDDEN, policy),
    storedAs: stored?.nextPolicy === undefined ? undefined : stored.policy,
    unfilled: stored?.unfilled ?? [],
    isUnpurged: stored?.isUnpurged ?? false,
  }
}
