import { configOption, count } from './wording.ts'

/**
 * What to do about an organization that is no longer mirrored, and whose customers are active all the same. `config`: the file that the
 * user named.
 */
export function leftBehindText(
  { organization, active }: { organization: string; active: number },
  config: string | undefined,
): string {
  const command = (verb: string, words: string) =>
    `  customer-mirror organizations ${verb} ${words}${configOption(config)}\n`
  return (
    `\n${organization} is not in the configuration, and its ${count(active, 'customer')} still count as active. If it left:\n` +
    `${command('retire', organization)}If it has a new id:\n${command('rename', `${organization} NEW-ID`)}`
  )
}
