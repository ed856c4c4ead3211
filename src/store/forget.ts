import { randomBytes } from 'node:crypto'
import { UsageError } from '../errors/errors.ts'
import { TEXT_FIELDS } from '../model/customer.ts'
import { type Forgotten, FORGOTTEN_KEY_BYTES, forgottenBy, idHash } from '../privacy/forgotten.ts'
import { requireTaken } from './refusals.ts'
import { asText, either, givenAs, joined, mentions, place, sql, type Sql, sqlTime, text, timeIn } from './port/sql.ts'
import { countOf, type Session, type Store, together } from './port/store.ts'
import { HOLDING_TABLES, QUOTATION } from './privacy.ts'
import { type Clocks, requireUnleased } from './runs/lease.ts'
import { forgetReading, forgetWindows } from './runs/list-memory.ts'
import { isMapping, parsedJson } from '../text/parsed-json.ts'

/** The verbs of a mirror about forgotten customers, each in one transaction. */
export function forgetting(store: Store) {
  return {
    /**
     * Deletes everything that the mirror holds of a customer, and keeps a keyed hash of the id. Throws OrganizationLeased while a
     * run has the organization's lease, and UsageError for an unknown customer. Then call `eraseForgotten`.
     */
    forgetCustomer: (asked: Forgetting) =>
      store.write((session) => forgetCustomer(session, asked), { securely: true }, asked),
    /**
     * Has the bytes that deleted rows left overwritten or freed, and looks for the id in rows of other customers, which may be `held`. `busy`:
     * another program, or a full or failing disk, keeps the mirror from it for now. `released`: a server has freed them, and no one can say
     * where else it has written them.
     */
    eraseForgotten: (id: string) => eraseForgotten(store, id),
    /** Lets a forgotten customer come back with the next run. Throws like forgetCustomer. */
    readmitCustomer: (asked: Forgetting) =>
      store.write((session) => readmitCustomer(session, asked), { durably: true }, asked),
  }
}

/** A run whose lease has expired may only be paused: without the lease it can write nothing. */
async function forgetCustomer(session: Session, asked: Forgetting) {
  const { organization, id, nowMs } = asked
  await requireUnleased(session, organization, 'changed', asked)
  const before = await session.first<{ forgotten_at: string }>(
    sql`SELECT forgotten_at FROM forgotten ${await hashed(session, asked)}`,
  )
  const sinceMs = timeIn(before?.forgotten_at)
  const deleted = await purgeCustomer(session, asked)
  const isKnown = Object.values(deleted).some((count) => count > 0)
  if (sinceMs === undefined && !isKnown)
    throw new UsageError(
      `${organization}: the mirror holds no customer with this id, so nothing was changed. Check the id and the organization; ` +
        `'customer-mirror query --org ${organization} --include-removed --json' lists the customers with their ids.`,
    )
  await session.run(sql`
    INSERT INTO forgotten_keys (organization, key) VALUES (${organization}, ${randomBytes(FORGOTTEN_KEY_BYTES)})
    ON CONFLICT (organization) DO NOTHING`)
  const key = await forgottenKey(session, organization)
  if (key === undefined) throw new Error(`forgotten customers of ${organization} have no key`)
  await session.run(sql`
    INSERT INTO forgotten (organization, hash, forgotten_at) VALUES (${organization}, ${idHash(key)(id)}, ${sqlTime(nowMs)})
    ON CONFLICT (organization, hash) DO NOTHING`)
  return { deleted, forgottenAtMs: sinceMs ?? nowMs, wasForgotten: sinceMs !== undefined }
}

/** A file is written anew: earlier nights may have left values of the customer in unused parts of it. */
async function eraseForgotten(store: Store, id: string): Promise<'erased' | 'busy' | 'held' | 'released'> {
  if (!(await store.purge(HOLDING_TABLES))) return 'busy'
  if (await store.read((session) => isNamed(session, id))) return 'held'
  return store.kind === 'sqlite' ? 'erased' : 'released'
}

async function isNamed(session: Session, id: string): Promise<boolean> {
  const holds = (table: string, columns: readonly string[]) => {
    const row = `lower(concat_ws(' ', ${columns.join(', ')}))`
    const forms = [id, id.replaceAll('-', '')].map((form) => sql`${place(row, form)} > 0`)
    return sql`EXISTS (SELECT 1 FROM ${text(table)} WHERE ${joined(forms, ' OR ')})`
  }
  const tables = [
    holds('customers', ['id', ...TEXT_FIELDS, 'extra']),
    holds('changes', ['id', 'fields']),
    holds('rejects', ['record_id', 'payload']),
  ]
  return (await session.first(sql`SELECT 1 WHERE ${joined(tables, ' OR ')}`)) !== undefined
}

async function readmitCustomer(session: Session, asked: Forgetting) {
  await requireUnleased(session, asked.organization, 'changed', asked)
  if ((await session.run(sql`DELETE FROM forgotten ${await hashed(session, asked)}`)) === 0)
    throw new UsageError(
      `${asked.organization}: no forgotten customer has this id. Check the id; ids are kept as hashes, so they cannot be listed.`,
    )
  // A window of an interrupted run that holds its number is not read again.
  await forgetWindows(session, asked.organization)
}

/** A customer; the id in lower case. */
type Of = { organization: string; id: string }

type Forgetting = Of & Clocks

const where = ({ organization, id }: Of, column = 'id'): Sql =>
  sql`WHERE organization = ${organization} AND ${text(column)} = ${id}`

/** Deletes all that the mirror holds of a customer, and the memory of the list, which may hold its fingerprints: the next run reads it anew. */
export async function purgeCustomer(session: Session, of: Of) {
  const addresses = await addressesOf(session, of)
  const changes = await session.run(sql`DELETE FROM changes ${where(of)}`)
  const rejects = await deleteRejects(session, of, addresses)
  for (const table of ['held_rows', 'absences'])
    await session.run(sql`
      DELETE FROM ${text(table)} WHERE organization = ${of.organization} AND row_id IN (SELECT row_id FROM customers ${where(of)})`)
  const customers = await session.run(sql`DELETE FROM customers ${where(of)}`)
  // A trigger or a policy may have kept a row of the customer.
  for (const [table, column] of Object.entries({ customers: 'id', changes: 'id', rejects: 'record_id' })) {
    const left = await countOf(session, sql`SELECT count(*) FROM ${text(table)} ${where(of, column)}`)
    requireTaken(of, table, { given: left, taken: 0 })
  }
  await hideInRuns(session, of)
  await forgetReading(session, of.organization)
  return { changes, rejects, customers }
}

/** Shorter texts are no addresses, and stand everywhere. */
const SHORTEST = 6

/** The e-mail addresses of a customer, also earlier ones and rejected ones. */
async function addressesOf(session: Session, of: Of): Promise<string[]> {
  const documents = await session.all<{ document: string | null }>(sql`
    SELECT ${either(`json_object('email', email)`, `json_build_object('email', email)::text`)} AS document FROM customers ${where(of)}
    UNION ALL SELECT ${asText('fields')} FROM changes ${where(of)}
    UNION ALL SELECT payload FROM rejects ${where(of, 'record_id')}`)
  // A change has both values of a field.
  const addresses = documents.flatMap(({ document }) => {
    const parsed = parsedJson(document ?? '')
    return isMapping(parsed) ? [parsed['email']].flat() : []
  })
  const texts = addresses.filter((address) => typeof address === 'string')
  return [...new Set(texts.filter(({ length }) => length >= SHORTEST))]
}

/** Also those that hold the id in another form, and those without a readable id that hold an address of the customer. */
async function deleteRejects(session: Session, { organization, id }: Of, email: readonly string[]): Promise<number> {
  const written = email.map((address) => JSON.stringify(address).slice(1, -1))
  return session.run(sql`
    DELETE FROM rejects WHERE organization = ${organization} AND (
      record_id = ${id} OR ${place('lower(payload)', id)} > 0 OR ${place('lower(payload)', id.replaceAll('-', ''))} > 0
      OR (record_id IS NULL AND EXISTS (SELECT 1 FROM ${givenAs('address', written)} WHERE ${mentions('payload', sql`address`)})))`)
}

/** A certificate names customers that a search found, and the message of an error may quote the service, which may name a customer in any way. */
async function hideInRuns(session: Session, { organization, id }: Of) {
  const quoting = await session.all<{ id: number; error: string }>(sql`
    SELECT id, error FROM runs WHERE organization = ${organization} AND ${place('error', '"')} > 0`)
  for (const run of quoting)
    await session.run(sql`UPDATE runs SET error = ${run.error.replace(QUOTATION, '')} WHERE id = ${run.id}`)
  // Only the id: a name that someone chose may be a word of the certificate.
  await session.run(sql`
    UPDATE runs SET certificate = ${either(
      sql`replace(certificate, ${id}, 'forgotten')`,
      sql`replace(certificate::text, ${id}, 'forgotten')::json`,
    )}
    WHERE organization = ${organization} AND ${place('certificate', id)} > 0`)
}

/** The forgotten customers of an organization; undefined if there are none. */
export async function loadForgotten(session: Session, organization: string): Promise<Forgotten | undefined> {
  const [rows, key] = await together(
    session.all<{ number: number; hash: string }>(
      sql`SELECT number, hash FROM forgotten WHERE organization = ${organization}`,
    ),
    forgottenKey(session, organization),
  )
  return forgottenBy(organization, key, new Map(rows.map(({ number, hash }) => [hash, number])))
}

/** Which row the customer has who is forgotten; none where no customer of the organization is. */
async function hashed(session: Session, { organization, id }: Of): Promise<Sql> {
  const key = await forgottenKey(session, organization)
  return sql`WHERE organization = ${organization} AND hash = ${key && idHash(key)(id)}`
}

async function forgottenKey(session: Session, organization: string): Promise<Uint8Array | undefined> {
  const find = sql`SELECT key FROM forgotten_keys WHERE organization = ${organization}`
  return (await session.first<{ key: Uint8Array }>(find))?.key
}
