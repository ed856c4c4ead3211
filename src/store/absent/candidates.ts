import type { Absent, Candidate, Listed, Named, Run } from '../../run.ts'
import type { Mirror } from '../../store.ts'
import { asText, isIn } from '../port/fragments.ts'
import { sql } from '../port/sql.ts'
import type { Session } from '../port/store.ts'
import { isCandidate } from './removal-rule.ts'
import { areTooManyAbsent, findAbsent, findListedBefore, mayBeCandidates } from './find-absent.ts'
import { findUnjudged } from './older-list.ts'
import { parsedJson } from '../../parsed-json.ts'
import { hides } from '../../privacy/privacy-policy.ts'

/** The customers that the scan is about to remove, to be searched for first; empty if a guard would hold them back. */
export async function findRemovalCandidates(
  session: Session,
  run: Run,
  { rule, proof, serviceMs }: Parameters<Mirror['findRemovalCandidates']>[1],
): Promise<Candidate[]> {
  if (!(await mayBeCandidates(session, run.organization, rule))) return []
  const { absent, notRemoved } = (await findAbsent(session, run)) ?? { absent: [], notRemoved: 0 }
  const candidates = absent.filter((row) => isCandidate(row, rule, proof))
  if (candidates.length === 0) return []
  if (await areTooManyAbsent(session, run, { absent: absent.length, notRemoved }, rule)) return []
  const unjudged = await findUnjudged(session, run, absent, serviceMs)
  return await asCandidates(
    session,
    run,
    candidates.filter(({ rowId }) => !unjudged.has(rowId)),
  )
}

/** Those of the rows that a quick run is about to mark as missing, to be searched for first. */
export async function findGone(session: Session, run: Run, rowIds: readonly number[]): Promise<Candidate[]> {
  return await asCandidates(session, run, await findListedBefore(session, run, rowIds))
}

/** The customers with the names to search for, those of before included: a row may have been edited, a record rejected, a change reverted. */
async function asCandidates(session: Session, run: Run, rows: readonly Absent[]): Promise<Candidate[]> {
  if (rows.length === 0) return []
  const shown = shownNames(run)
  const earlier = await findEarlier(
    session,
    run.organization,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => ({ ...shown(row), earlier: (earlier.get(row.id) ?? []).map(shown) }))
}

/** How many rejects of one customer are read, to find one that is JSON. */
const MOST_REJECTS = 3

/** The latest of each: for all customers at once, since rejects that are resolved are in no index by their ids. */
export async function findEarlier(
  session: Session,
  organization: string,
  ids: readonly string[],
): Promise<Map<string, Named[]>> {
  const rejected = await session.all<{ id: string; document: string }>(sql`
    SELECT record_id AS id, payload AS document FROM (
      SELECT record_id, payload, row_number() OVER (PARTITION BY record_id ORDER BY seen_at DESC) AS number
      FROM rejects WHERE organization = ${organization} AND ${isIn('record_id', ids)}
    ) AS latest WHERE number <= ${MOST_REJECTS} ORDER BY record_id, number`)
  const changed = await session.all<{ id: string; document: string }>(sql`
    SELECT id, document FROM (
      SELECT id, ${asText('fields')} AS document, row_number() OVER (PARTITION BY id ORDER BY seq DESC) AS number
      FROM changes WHERE organization = ${organization} AND ${isIn('id', ids)} AND fields IS NOT NULL
    ) AS latest WHERE number <= ${MOST_CHANGES} ORDER BY id, number`)
  const [payloads, changes] = [byId(rejected), byId(changed)]
  return new Map(ids.map((id) => [id, namesIn(payloads.get(id) ?? [], changes.get(id) ?? [])]))
}

function byId(rows: readonly { id: string; document: string }[]): Map<string, string[]> {
  const documents = new Map<string, string[]>()
  for (const { id, document } of rows) documents.set(id, [...(documents.get(id) ?? []), document])
  return documents
}

const LISTED_AT_ONCE = 1000

/** Received customers for testing searches, at most `most`: first those with a value in each field to search by. */
export async function findListed(session: Session, run: Run, most: number): Promise<Listed[]> {
  const named: Listed[] = []
  const others: Listed[] = []
  const shown = shownNames(run)
  const searched = searchedNames(run)
  for (let last = 0, isMore = true; isMore && named.length < most;) {
    const rows = await session.all<Listed & { row_id: number }>(sql`
      SELECT row_id, id, name, username, email FROM customers
      WHERE organization = ${run.organization} AND row_id > ${last} AND removed_at IS NULL ORDER BY row_id LIMIT ${LISTED_AT_ONCE}`)
    for (const { row_id, ...stored } of rows) {
      if (!run.seen.has(row_id)) continue
      const customer = shown(stored)
      if (searched.every((field) => customer[field] !== null && customer[field] !== '')) named.push(customer)
      else if ((customer.username ?? customer.email) !== null && others.length < most) others.push(customer)
    }
    last = rows.at(-1)?.row_id ?? last
    isMore = rows.length === LISTED_AT_ONCE
  }
  return [...named, ...others].slice(0, most)
}

/** How many changes of one customer are read. Each has two values of a field. */
const MOST_CHANGES = 3

/** The names in the first of its rejects that is JSON, then those after its latest changes, then those before them; the latest first. */
function namesIn(payloads: readonly string[], changes: readonly string[]): Named[] {
  const reject = payloads.map(parsedJson).find((payload) => payload !== undefined)
  const latest = changes.map(parsedJson)
  return [
    ...(reject === undefined ? [] : [namesBy((field) => valueIn(reject, field))]),
    ...latest.map((change) => namesBy((field) => valueIn(valueIn(change, field), 1))),
    ...latest.map((change) => namesBy((field) => valueIn(valueIn(change, field), 0))),
  ]
}

function namesBy(valueOf: (field: keyof Named) => unknown): Named {
  return { name: textOf(valueOf('name')), username: textOf(valueOf('username')), email: textOf(valueOf('email')) }
}

function valueIn(value: unknown, key: string | number): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== (typeof key === 'number'))
    return undefined
  return Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined
}

/** A field of a rejected record may be anything. An object or an array is searched for as JSON. */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : null
}

const NAMES = ['name', 'username', 'email'] as const

/** Hidden values cannot be searched for: a hash is in no answer of the service. */
function shownNames(run: Pick<Run, 'privacy'>): <Row extends Named>(row: Row) => Row {
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

function searchedNames({ privacy }: Pick<Run, 'privacy'>): (keyof Named)[] {
  return NAMES.filter((field) => privacy === undefined || !hides(privacy.policy, field))
}
