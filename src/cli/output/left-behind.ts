import { configOption } from './shell-word.ts'
import { count } from './wording.ts'

/**
 * What to do about an organization that is no longer mirrored, and whose customers are active all the same. `config`: the file that the
 * user named.
 */
export function leftBehindText(
  { organization, active }: { organization: string; active: number },
  config: string | undefined,
): string {
  return (
    `\n${organization} is not in the configuration, and its ${count(active, 'customer')} still count as active. ` +
    `To change that: customer-mirror organizations retire ${organization}${configOption(config)}\n`
  )
}
