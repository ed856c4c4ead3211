import type { ForgottenCustomer, Erased } from '../../store.ts'
import { sqlText } from './sql-text.ts'
import { count, moment } from './wording.ts'

/** What was done about one customer, and which copies for readers were made before. */
export type ForgetReport = Omit<ForgottenCustomer, 'traces'> & {
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
export const BYTES_OF_SERVER =
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
    ...copyLines(copies),
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
  if (replaced.length === 0) return []
  return [
    '  - mirrors that a restore replaced, or that a killed restore or move left unfinished: remove them',
    ...replaced.map((file) => `      ${file}`),
  ]
}

function copyLines(copies: readonly string[]): string[] {
  if (copies.length === 0) return []
  return [
    '  - copies for readers, made before. The next publish replaces the first, and removes what a killed one left (.publishing); older ones ' +
      'stay until they are removed:',
    ...copies.map((file) => `      ${file}`),
  ]
}
