import type { Purged } from '../../../store.ts'
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
import { forgetReading } from '../organizations/organization-rows.ts'
import type { Session } from '../session.ts'

/**
 * Deletes everything that the mirror holds of one customer, and the memory of the list of the organization, which may hold
 * fingerprints of its record: the next run starts anew and reads every record. The caller holds a transaction that may write.
 */
export async function purgeCustomer(session: Session, { organization, id }: Of): Promise<Purged> {
  const texts = await textsOf(session, { organization, id })
  const deleteOf = (table: string) => `DELETE FROM ${table} WHERE organization = $1 AND id = $2`
  const deleted = {
    changes: await session.run(deleteOf('changes'), organization, id),
    rejects: await deleteRejects(session, { organization, id }, texts.email),
    customers: await deleteRow(session, { organization, id }),
  }
  await requireDeleted(session, { organization, id })
  await hideInRuns(session, { organization, id }, texts.all)
  await forgetReading(session, organization)
  return { deleted, traces: { id: formsOfId(id), values: texts.all.flatMap(formsOfText) } }
}

type Of = { organization: string; id: string }

/** `all` are the values of a customer, also earlier ones, that no other customer has; `email` are the addresses. */
async function textsOf(session: Session, { organization, id }: Of): Promise<CustomerTexts> {
  const documents = await session.all<{ document: string | null }>(
    `SELECT json_build_object(${NAMING_FIELDS.map((field) => `'${field}', ${field}`).join(', ')})::text AS document
     FROM customers WHERE organization = $1 AND id = $2
     UNION ALL SELECT fields::text FROM changes WHERE organization = $1 AND id = $2
     UNION ALL SELECT payload FROM rejects WHERE organization = $1 AND record_id = $2`,
    organization,
    id,
  )
  const { all, email } = textsOfCustomer(documents.map(({ document }) => document))
  const shared = all.length === 0 ? [] : await session.all<{ value: string }>(SHARED, organization, id, all)
  const others = new Set(shared.map(({ value }) => value))
  return { all: all.filter((value) => !others.has(value)), email }
}

/** Every customer is read once. */
const SHARED = `
  SELECT DISTINCT value FROM customers CROSS JOIN unnest(ARRAY[${FIELDS_IN_COMMON.join(', ')}]) AS value
  WHERE NOT (organization = $1 AND id = $2) AND value = ANY ($3::text[])
    AND (${FIELDS_IN_COMMON.map((column) => `${column} = ANY ($3::text[])`).join(' OR ')})`

/** Also those that hold the id in another form, and those without a readable id that hold an address of the customer. */
function deleteRejects(session: Session, { organization, id }: Of, email: readonly string[]): Promise<number> {
  return session.run(
    `DELETE FROM rejects WHERE organization = $1 AND (
       record_id = $2 OR strpos(lower(payload), $2) > 0 OR strpos(lower(payload), $3) > 0
       OR (record_id IS NULL AND EXISTS (
         SELECT FROM unnest($4::text[]) AS address WHERE ${mentions('payload', 'address')})))`,
    ...[organization, id, id.replaceAll('-', ''), email.map((address) => JSON.stringify(address))],
  )
}

/** Whether a text holds another one, in upper or lower case. */
function mentions(text: string, wanted: string): string {
  // The letters of ASCII first, as "C" has them: in a database whose language is Turkish, i is not the small form of I.
  const lowered = (column: string) => `lower(lower(${column} COLLATE "C") COLLATE "default")`
  return `strpos(${lowered(text)}, ${lowered(wanted)}) > 0`
}

/** What refers to the row goes first. */
async function deleteRow(session: Session, { organization, id }: Of): Promise<number> {
  const row = 'SELECT row_id FROM customers WHERE organization = $1 AND id = $2'
  for (const table of ['held_removals', 'absences'])
    await session.run(`DELETE FROM ${table} WHERE organization = $1 AND row_id IN (${row})`, organization, id)
  return session.run('DELETE FROM customers WHERE organization = $1 AND id = $2', organization, id)
}

/** Throws AccountingBroken where a trigger or a policy kept a row of the customer. */
async function requireDeleted(session: Session, of: Of): Promise<void> {
  for (const [table, given] of await rowsLeft(session, of)) requireTaken(of, table, { given, taken: 0 })
}

/** How many rows of a customer each table holds. */
export async function rowsLeft(session: Session, { organization, id }: Of): Promise<[table: string, rows: number][]> {
  const left = await session.first<{ customers: number; changes: number; rejects: number }>(
    `SELECT (SELECT count(*) FROM customers WHERE organization = $1 AND id = $2) AS customers,
       (SELECT count(*) FROM changes WHERE organization = $1 AND id = $2) AS changes,
       (SELECT count(*) FROM rejects WHERE organization = $1 AND record_id = $2) AS rejects`,
    organization,
    id,
  )
  return Object.entries(left ?? {})
}

/** A certificate names customers that a search found, and the message of an error may quote the service. */
async function hideInRuns(session: Session, { organization, id }: Of, values: readonly string[]): Promise<void> {
  await session.run(
    `UPDATE runs SET error = '${HIDDEN_ERROR}'
     WHERE organization = $1 AND EXISTS (SELECT FROM unnest($2::text[]) AS value WHERE ${mentions('error', 'value')})`,
    organization,
    [...formsOfId(id), ...values],
  )
  // Only the id: a name that someone chose may be a word of the certificate.
  await session.run(
    `UPDATE runs SET certificate = replace(certificate::text, $2, 'forgotten')::json
     WHERE organization = $1 AND strpos(certificate::text, $2) > 0`,
    organization,
    id,
  )
}
