import type { RunPrivacy, Start } from '../../../run.ts'
import { FIRST_TABLE } from '../../hidden-rows.ts'
import {
  changeOfPolicy,
  policyOfRun,
  runPrivacy,
  storedPolicy,
  type PolicyColumns,
  type StoredPolicy,
} from '../../rules/policy-of-rows.ts'
import { forgetReading } from '../organizations/organization-rows.ts'
import type { Session } from '../session.ts'

/** What a run does about privacy, and whether the memory of the list was emptied for it. */
export type StartedPrivacy = { privacy: RunPrivacy | undefined; isEmptied: boolean }

/**
 * Compares the policy of a run with that of the stored values. If it is another one, the memory of the list is emptied, since every
 * record must be read again, and the values are rewritten by `applyPrivacy`. The caller holds the transaction.
 */
export async function startPrivacy(
  session: Session,
  { organization, privacy }: Start,
  row: PolicyColumns | undefined,
): Promise<StartedPrivacy> {
  const stored = row && storedPolicy(row)
  const ofRun = policyOfRun(privacy, stored)
  if (ofRun === undefined) return { privacy: undefined, isEmptied: false }
  const { policy, isOther } = ofRun
  if (!isOther) return { privacy: runPrivacy(policy, stored), isEmptied: false }
  // Nothing is left of the digests of pages and records as they were sent.
  await forgetReading(session, organization)
  await beginRewriting(session, organization, changeOfPolicy(policy, stored))
  return { privacy: runPrivacy(policy, await findPolicy(session, organization)), isEmptied: true }
}

/** The policy of an organization; undefined if nothing of it was ever hidden. */
export async function findPolicy(session: Session, organization: string): Promise<StoredPolicy | undefined> {
  const find = 'SELECT * FROM privacy_policies WHERE organization = $1'
  const row = await session.first<PolicyColumns>(find, organization)
  return row && storedPolicy(row)
}

async function beginRewriting(
  session: Session,
  organization: string,
  { isRewritten, from, to, unfilled, lacking }: ReturnType<typeof changeOfPolicy>,
): Promise<void> {
  if (!isRewritten || !(await hasRows(session, organization))) {
    return await storeApplied(session, organization, to, unfilled)
  }
  await session.run(
    `INSERT INTO privacy_policies (organization, policy, next_policy, next_table, next_row, unfilled, is_unpurged)
     VALUES ($1, $2, $3, $4, 0, $5, true)
     ON CONFLICT (organization) DO UPDATE SET policy = excluded.policy, next_policy = excluded.next_policy,
       next_table = excluded.next_table, next_row = excluded.next_row, unfilled = excluded.unfilled,
       is_unpurged = excluded.is_unpurged`,
    ...[organization, from, to, FIRST_TABLE, lacking],
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
async function storeApplied(session: Session, organization: string, policy: string, unfilled: string): Promise<void> {
  await session.run(
    `INSERT INTO privacy_policies (organization, policy, unfilled) VALUES ($1, $2, $3)
     ON CONFLICT (organization) DO UPDATE SET policy = excluded.policy, next_policy = NULL`,
    organization,
    policy,
    unfilled,
  )
}
