import type { Contents } from '../../organizations.ts'
import { isPostgres } from '../../address/mirror-address.ts'
import { BYTES_OF_SERVER, replacedLines } from './customer-forgotten.ts'
import { configOption } from './shell-word.ts'
import { sqlText } from './sql-text.ts'
import { count } from './wording.ts'

/** An organization that was forgotten, and the copies for readers that may hold it. */
export type ForgottenOrganization = {
  organization: string
  deleted: Contents
  finished: boolean
  mirror: string
  copies: readonly string[]
  /** Mirrors that restores have replaced or left unfinished, and that are still there. */
  replaced: readonly string[]
}

/** What was deleted, and what cannot be reached from here. */
export function forgottenOrganizationText({
  organization,
  deleted,
  finished,
  mirror,
  copies,
  replaced,
}: ForgottenOrganization): string {
  const lines = [
    `${organization}: forgotten. Deleted: ${rowsText(deleted)}.`,
    ...(deleted.forgotten > 0 ? [hashesText(deleted.forgotten)] : []),
    ...(finished ? bytesLines(mirror) : []),
    '',
    'It may still be in places that Customer Mirror cannot reach:',
    '  - a worker whose configuration still names this organization, and which would load it again: it reads the new one within two ' +
      'seconds, or when it is restarted',
    ...copyLines(copies),
    ...replacedLines(replaced),
    '  - backups of the mirror, the mirror that it was moved from, copies that were published to other places, exports, and logs: ' +
      'delete them there, or let them expire',
    '  - databases that were filled from the mirror. No change announces this deletion. Run there, in each table:',
    `      DELETE FROM customers WHERE organization = ${sqlText(organization)};`,
  ]
  return `${lines.join('\n')}\n`
}

function bytesLines(mirror: string): string[] {
  if (!isPostgres(mirror)) return [`No byte of ${mirror} holds any of its rows.`]
  return [`No query of ${mirror} finds any of its rows.`, BYTES_OF_SERVER]
}

function rowsText({ customers, changes, runs, rejects }: Contents): string {
  const rejected = count(rejects, 'reject')
  return `${count(customers, 'customer')}, ${count(changes, 'change')}, ${count(runs, 'run')} and ${rejected}`
}

function hashesText(forgotten: number): string {
  return `The mirror no longer knows that ${count(forgotten, 'customer')} of it had been forgotten before: if it is mirrored again, they return.`
}

function copyLines(copies: readonly string[]): string[] {
  if (copies.length === 0) return []
  return [
    '  - copies for readers, made before. The next publish replaces one that holds other organizations too (customer-mirror publish ' +
      'makes it now); those of this organization alone, older ones, and what a killed publish left of one (.publishing) stay until you ' +
      'remove them:',
    ...copies.map((file) => `      ${file}`),
  ]
}

/** What is asked before anything is deleted. */
export function unconfirmedText(organization: string, contents: Contents, config: string | undefined): string {
  return (
    `${organization}: nothing was changed. This would delete ${rowsText(contents)} for good, and only a backup brings them back. ` +
    `If you mean it: ${forgetCommand(organization, config)}`
  )
}

/** The command that deletes it, from the mirror of the configuration that the user named. */
export function forgetCommand(organization: string, config: string | undefined): string {
  return `customer-mirror organizations forget ${organization} --yes${configOption(config)}`
}
