import { count } from './wording.ts'

/** What to do about an organization that is no longer mirrored, and whose customers are active all the same. */
export function leftBehindText({ organization, active }: { organization: string; active: number }): string {
  return (
    `\n${organization} is not in the configuration, and its ${count(active, 'customer')} still count as active. ` +
    `To change that: customer-mirror organizations retire ${organization}\n`
  )
}
