import { hiddenValues } from '../../privacy/hidden-values.ts'
import {
  isSamePolicy,
  mixedPolicy,
  NOTHING_HIDDEN,
  privacyPolicy,
  storedForm,
  type HiddenFields,
  type PrivacyPolicy,
} from '../../privacy/privacy-policy.ts'
import type { Run, RunPrivacy, Start } from '../../run.ts'
import type { StoredPrivacy } from '../../store.ts'
import { FIRST_TABLE, type Place } from '../hidden-rows.ts'

/** The policy that the stored values follow, as a row of `privacy_policies`. */
export type PolicyColumns = {
  policy: string
  next_policy: string | null
  next_table: string | null
  next_row: number | null
  unfilled: string
  is_unpurged: boolean | number
}

/** The same; while values are rewritten, `next` is the policy that they will follow, and `place` is how far that is. */
export type StoredPolicy = {
  policy: HiddenFields
  next: HiddenFields | undefined
  place: Place
  unfilled: readonly string[]
  isUnpurged: boolean
}

/** The policy in a row. */
export function storedPolicy(row: PolicyColumns): StoredPolicy {
  const policy: HiddenFields = JSON.parse(row.policy)
  const next: HiddenFields | null = JSON.parse(row.next_policy ?? 'null')
  const unfilled: string[] = JSON.parse(row.unfilled)
  const place = { table: row.next_table ?? FIRST_TABLE, row: row.next_row ?? 0 }
  return { policy, next: next ?? undefined, place, unfilled, isUnpurged: Boolean(row.is_unpurged) }
}

/** The policy in a row, as it is listed: while values are rewritten, the one that they will follow. */
export function listedPolicy(row: PolicyColumns & { organization: string }): StoredPrivacy {
  const { policy, next, isUnpurged } = storedPolicy(row)
  const left = next ? 'values' : isUnpurged ? 'free space' : 'nothing'
  return { organization: row.organization, policy: next ?? policy, left }
}

/** The policy of a run that begins, and whether the stored values are to follow another one; undefined if none hides anything. */
export function policyOfRun(
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
export function changeOfPolicy(
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
export function isPrivacyOwed({ privacy }: Pick<Run, 'privacy'>): boolean {
  return privacy?.storedAs !== undefined || privacy?.isUnpurged === true
}

/** What a run of this policy does about privacy, where this is stored. */
export function runPrivacy(policy: PrivacyPolicy, stored: StoredPolicy | undefined): RunPrivacy {
  return {
    policy,
    hidden: hiddenValues(NOTHING_HIDDEN, policy),
    storedAs: stored?.next === undefined ? undefined : stored.policy,
    unfilled: stored?.unfilled ?? [],
    isUnpurged: stored?.isUnpurged ?? false,
  }
}
