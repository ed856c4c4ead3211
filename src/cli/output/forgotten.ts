import type { ForgottenCustomer, Erased } from '../../model/mirror.ts'
import { sqlText, count, moment, configOption } from './wording.ts'
import type { Contents } from '../../model/organizations.ts'
import { isPostgres } from '../../address/mirror-address.ts'

/** What was done about one customer, and which copies for readers were made before. */
export type ForgetReport = ForgottenCustomer & {
  organization: string
  id: string
  mirror: string
  /** `failed`: the rows are deleted, and `failure` says why their bytes are not. */
  erased: Erased | 'failed'
  failure: Error | undefined
  /** Copies for readers that exist now. */
  copies: readonly string[]
  /** Mirrors that restores have replaced or left unfinished, and that are still there. */
  replaced: readonly string[]
}

/** What was deleted, and what cannot be reached from here. */
export function forgottenCustomerText(report: ForgetReport): string {
  return [...doneLines(report), '', ...beyondLines(report)].join('\n').concat('\n')
}

function doneLines({ organization, deleted, forgottenAtMs, wasForgotten, erased, mirror }: ForgetReport): string[] {
  const rows = [
    count(deleted.customers, 'customer'),
    count(deleted.changes, 'change'),
    count(deleted.rejects, 'reject'),
  ].join(', ')
  const found = Object.values(deleted).some((number) => number > 0)
  const what = wasForgotten
    ? `${organization}: the customer is forgotten already, since ${moment(forgottenAtMs)}.${found ? ` Deleted: ${rows}.` : ''}`
    : `${organization}: the customer is forgotten. Deleted: ${rows}.`
  return [what, ...BYTES[erased](mirror), ...(wasForgotten ? [] : [FROM_NOW])]
}

const FROM_NOW =
  'When the service lists the customer again, runs count the record as suppressed and keep nothing of it. The next run reads every ' +
  'record of the organization.'

/** For a mirror in PostgreSQL, once the rows are deleted. */
const BYTES_OF_SERVER =
  "Bytes may stay in the server's files until it reuses the space (VACUUM FULL writes the tables anew), and in its WAL, replicas and " +
  'backups until they expire.'

const BYTES: Record<ForgetReport['erased'], (mirror: string) => string[]> = {
  erased: (mirror) => [`No byte of ${mirror} holds this customer.`],
  held: (mirror) => [
    `Rows of other customers in ${mirror} hold the id of this customer in fields of their own. Those rows stay.`,
  ],
  busy: () => [],
  failed: () => [],
  released: (mirror) => [`No query of ${mirror} finds this customer.`, BYTES_OF_SERVER],
}

function beyondLines({ organization, id, copies, replaced }: ForgetReport): string[] {
  const of = `WHERE organization = ${sqlText(organization)} AND id = ${sqlText(id)};`
  return [
    'This customer may still be in places that Customer Mirror cannot reach:',
    '  - the service: as long as it lists the customer, it has the data',
    ...listed(
      'copies for readers, made before. The next publish replaces the first, and removes what a killed one left (.unfinished); older ones ' +
        'stay until they are removed:',
      copies,
    ),
    ...replacedLines(replaced),
    '  - backups of the mirror, the mirror that it was moved from, copies that were published to other places, exports, and logs of the ' +
      'service or of a proxy: delete them there, or let them expire',
    '  - databases that were filled from the mirror. No change announces this deletion, because it would have to name the customer. ' +
      'Run there:',
    ...['customers', 'changes', 'customers_history'].map((table) => `      DELETE FROM ${table} ${of}`),
  ]
}

/** Files beside the mirror that restores and moves left there. */
export function replacedLines(replaced: readonly string[]): string[] {
  return listed(
    'mirrors that a restore replaced, or that a killed restore or move left unfinished: remove them',
    replaced,
  )
}

function listed(what: string, files: readonly string[]): string[] {
  return files.length === 0 ? [] : [`  - ${what}`, ...files.map((file) => `      ${file}`)]
}

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
    ...listed(
      'copies for readers, made before. The next publish replaces one that holds other organizations too (customer-mirror publish makes ' +
        'it now); those of this organization alone, older ones, and what a killed publish left of one (.unfinished) stay until you remove them:',
      copies,
    ),
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

/** How to finish the work of a command that deleted rows and could not erase their bytes: by running it again. */
export function unfinishedText(mirror: string, command: string): string {
  if (isPostgres(mirror)) {
    return (
      `✖ Not finished: the rows are deleted, but a transaction in ${mirror}, or on a standby of it, that began before still sees ` +
      `them. Wait until queries and runs end (prepared transactions too), then run again:\n  ${command}\n`
    )
  }
  return (
    `✖ Not finished: the rows are deleted, but ${mirror}-wal or unused parts of ${mirror} may still hold their bytes. A program ` +
    'that has the mirror open, too little free space, or a disk that failed kept it from being cleaned. Wait until queries and ' +
    `runs end, then run again:\n  ${command}\n`
  )
}
