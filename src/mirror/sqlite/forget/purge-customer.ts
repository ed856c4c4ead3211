import type { Purged } from '../../../store.ts'
import type { Connection } from '../opening/database.ts'
import {
  FIELDS_IN_COMMON,
  formsOfId,
  formsOfText,
  HIDDEN_ERROR,
  NAMING_FIELDS,
  textsOfCustomer,
  type CustomerTexts,
} from '../../customer-texts.ts'
import { requireTaken } from '../../pages/rows-taken.ts'
import { forgetReading } from '../organizations/organization-tables.ts'
import { statement } from '../statement.ts'

/**
 * Deletes everything that the mirror holds of one customer, and the memory of the list of the organization, which may hold
 * fingerprints of its record: the next run starts anew and reads every record. The caller holds a transaction that may write, and
 * overwrites what is deleted.
 */
export function purgeCustomer(db: Connection, { organization, id }: Of): Purged {
  const texts = textsOf(db, { organization, id })
  const deleted = {
    changes: statement(db, 'DELETE FROM changes WHERE organization = ? AND id = ?').run(organization, id).changes,
    rejects: deleteRejects(db, { organization, id }, texts.email),
    customers: statement(db, 'DELETE FROM customers WHERE organization = ? AND id = ?').run(organization, id).changes,
  }
  requireDeleted(db, { organization, id })
  hideInRuns(db, { organization, id }, texts.all)
  forgetReading(db, organization)
  return { deleted, traces: { id: formsOfId(id), values: texts.all.flatMap(formsOfText) } }
}

type Of = { organization: string; id: string }

/** `all` are the values of a customer, also earlier ones, that no other customer has; `email` are the addresses. */
function textsOf(db: Connection, { organization, id }: Of): CustomerTexts {
  const documents = statement<[Record<string, string>], string | null>(
    db,
    `SELECT json_object(${NAMING_FIELDS.map((field) => `'${field}', ${field}`).join(', ')})
     FROM customers WHERE organization = @organization AND id = @id
     UNION ALL SELECT fields FROM changes WHERE organization = @organization AND id = @id
     UNION ALL SELECT payload FROM rejects WHERE organization = @organization AND record_id = @id`,
  ).pluck()
  const { all, email } = textsOfCustomer(documents.all({ organization, id }))
  const isShared = statement<[Record<string, string>], number>(
    db,
    `SELECT 1 FROM customers WHERE NOT (organization = @organization AND id = @id)
       AND @value IN (${FIELDS_IN_COMMON.join(', ')}) LIMIT 1`,
  ).pluck()
  return { all: all.filter((value) => isShared.get({ organization, id, value }) === undefined), email }
}

/** Also those that hold the id in another form, and those without a readable id that hold an address of the customer. */
function deleteRejects(db: Connection, { organization, id }: Of, email: readonly string[]): number {
  return statement(
    db,
    `DELETE FROM rejects WHERE organization = @organization AND (
       record_id = @id OR instr(lower(payload), @id) > 0 OR instr(lower(payload), @digits) > 0
       OR (record_id IS NULL AND EXISTS (
         SELECT 1 FROM json_each(@email) WHERE instr(lower(payload), lower(json_quote(value))) > 0)))`,
  ).run({ organization, id, digits: id.replaceAll('-', ''), email: JSON.stringify(email) }).changes
}

/** Throws AccountingBroken where a trigger kept a row of the customer. */
function requireDeleted(db: Connection, of: Of): void {
  for (const [table, id] of [
    ['customers', 'id'],
    ['changes', 'id'],
    ['rejects', 'record_id'],
  ] as const) {
    const count = `SELECT COUNT(*) FROM ${table} WHERE organization = @organization AND ${id} = @id`
    const left = statement<[Of], number>(db, count).pluck().get(of)
    requireTaken(of, table, { given: left ?? 0, taken: 0 })
  }
}

/** A certificate names customers that a search found, and the message of an error may quote the service. */
function hideInRuns(db: Connection, { organization, id }: Of, values: readonly string[]): void {
  const hidden = { organization, texts: JSON.stringify([...formsOfId(id), ...values]) }
  const isNamedIn = (column: string) =>
    `EXISTS (SELECT 1 FROM json_each(@texts) WHERE instr(lower(${column}), lower(value)) > 0)`
  statement(
    db,
    `UPDATE runs SET error = '${HIDDEN_ERROR}'
     WHERE organization = @organization AND ${isNamedIn('error')}`,
  ).run(hidden)
  // Only the id: a name that someone chose may be a word of the certificate.
  statement(
    db,
    `UPDATE runs SET certificate = replace(certificate, @id, 'forgotten')
     WHERE organization = @organization AND instr(certificate, @id) > 0`,
  ).run({ organization, id })
}
