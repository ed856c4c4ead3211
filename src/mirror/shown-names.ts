import { hides } from '../privacy/privacy-policy.ts'
import type { Named, Run } from '../run.ts'

/** The fields to search a customer by. */
const NAMES = ['name', 'username', 'email'] as const

/** Hidden values cannot be searched for: a hash is in no answer of the service. */
export function shownNames(run: Pick<Run, 'privacy'>): <Row extends Named>(row: Row) => Row {
  if (run.privacy?.hidden === undefined) return (row) => row
  const shown = new Set<keyof Named>(searchedNames(run))
  const valueOf = (field: keyof Named, row: Named) => (shown.has(field) ? row[field] : null)
  return (row) => ({
    ...row,
    name: valueOf('name', row),
    username: valueOf('username', row),
    email: valueOf('email', row),
  })
}

/** The fields to search by that are not hidden. */
export function searchedNames({ privacy }: Pick<Run, 'privacy'>): (keyof Named)[] {
  return NAMES.filter((field) => privacy === undefined || !hides(privacy.policy, field))
}
