import type { RemovingProof } from '../../model/report.ts'
import type { Absent, Candidate, Ending, Listed, Named, RemovalRule, Run } from '../../model/run.ts'
import { hides } from '../../privacy/hidden-values.ts'
import { areTooManyAbsent, findAbsent, findListedBefore, findUnjudged } from './find-absent.ts'
import { isCandidate } from './removal-rule.ts'
import { asText, isIn, joined, rowsOf, type Sql, sql, text } from '../port/sql.ts'
import { type Session, together } from '../port/store.ts'
import { isMapping, parsedJson } from '../../text/parsed-json.ts'

/** The customers that the scan is about to remove, to be searched for first; empty if a guard would hold them back. */
export async function findRemovalCandidates(
  session: Session,
  run: Run,
  { rule, proof, serviceMs }: { rule: RemovalRule; proof: RemovingProof } & Pick<Ending, 'serviceMs'>,
): Promise<Candidate[]> {
  const missing = sql`organization = ${run.organization} AND missing_since IS NOT NULL AND removed_at IS NULL`
  const first = rule.after > 1 && (await session.first(sql`SELECT 1 FROM customers WHERE ${missing} LIMIT 1`))
  if (first === undefined) return []
  const { absent, notRemoved } = await findAbsent(session, run)
  const candidates = absent.filter((row) => isCandidate(row, rule, proof))
  if (candidates.length === 0) return []
  if (await areTooManyAbsent(session, run, { absent: absent.length, notRemoved }, rule)) return []
  const unjudged = await findUnjudged(session, run, absent, serviceMs)
  const judged = candidates.filter(({ rowId }) => !unjudged.has(rowId))
  return await asCandidates(session, run, judged)
}

/** Those of the rows that a partial run is about to mark as missing, to be searched for first. */
export async function findGone(session: Session, run: Run, rowIds: readonly number[]): Promise<Candidate[]> {
  return await asCandidates(session, run, await findListedBefore(session, run, rowIds))
}

/** The customers with the names to search for, those of before included: a row may have been edited, a record rejected, a change reverted. */
async function asCandidates(session: Session, run: Run, rows: readonly Absent[]): Promise<Candidate[]> {
  if (rows.length === 0) return []
  const shown = shownNames(run)
  const [ids, rowIds] = [rows.map(({ id }) => id), rows.map(({ rowId }) => rowId)]
  const stored = sql`
    SELECT row_id AS "rowId", id, name, username, email, created_at AS "createdAt", created_at_utc AS "createdAtUtc"
    FROM customers WHERE ${rowsOf(run.organization, rowIds)}`
  const [named, rejects, changes] = await together(
    session.all<Omit<Candidate, 'earlier'>>(stored),
    findLatest(session, run.organization, ids, ['rejects', 'record_id', 'payload', 'seen_at']),
    findLatest(session, run.organization, ids, ['changes', 'id', 'fields', 'seq']),
  )
  const byRow = new Map(named.map((row) => [row.rowId, row]))
  return rowIds.flatMap((rowId) => {
    const row = byRow.get(rowId)
    if (row === undefined) return []
    const earlier = namesIn(rejects.get(row.id) ?? [], changes.get(row.id) ?? [])
    return { ...shown(row), earlier: earlier.map(shown) }
  })
}

/** How many rejects of one customer are read, to find one that is JSON, and how many changes. */
const MOST_DOCUMENTS = 3

/** A reject or a change of a customer, as JSON. */
type Document = { id: string; document: string }

type Documents = readonly [table: string, id: string, document: string, order: string]

/** The latest documents of each customer. For all at once, since rejects that are resolved are in no index by their ids. */
async function findLatest(session: Session, organization: string, ids: readonly string[], of: Documents) {
  const [table, id, , order] = of.map(text)
  const document = asText(of[2])
  const rows = await session.all<Document>(sql`
    SELECT id, document FROM (
      SELECT ${id} AS id, ${document} AS document, row_number() OVER (PARTITION BY ${id} ORDER BY ${order} DESC) AS number
      FROM ${table} WHERE organization = ${organization} AND ${isIn(of[1], ids)} AND ${document} IS NOT NULL
    ) AS latest WHERE number <= ${MOST_DOCUMENTS} ORDER BY id, number`)
  return Map.groupBy(rows, (row) => row.id)
}

const LISTED_AT_ONCE = 1000

/** Received customers for testing searches, at most `most`: first those with a value in each field to search by. */
export async function findListed(session: Session, run: Run, most: number): Promise<Listed[]> {
  const searched = searchedNames(run)
  const filled = searched.map((field) => text(`coalesce(${field}, '') <> ''`))
  const isNamed = searched.length === 0 ? text('true') : joined(filled, ' AND ')
  const named = await findSome(session, run, isNamed, most)
  const known = searched.filter((field) => field !== 'name').map((field) => text(`${field} IS NOT NULL`))
  if (named.length === most || known.length === 0) return named
  const others = sql`NOT (${isNamed}) AND (${joined(known, ' OR ')})`
  return [...named, ...(await findSome(session, run, others, most - named.length))]
}

/** Customers that are not as wanted stay where they are: there may be a million of them. */
async function findSome(session: Session, run: Run, wanted: Sql, most: number): Promise<Listed[]> {
  const found: Listed[] = []
  const shown = shownNames(run)
  for (let last = 0, isMore = true; isMore && found.length < most;) {
    const rows = await session.all<Listed & { row_id: number }>(sql`
      SELECT row_id, id, name, username, email FROM customers
      WHERE organization = ${run.organization} AND row_id > ${last} AND removed_at IS NULL AND ${wanted}
      ORDER BY row_id LIMIT ${LISTED_AT_ONCE}`)
    for (const { row_id, ...stored } of rows) if (run.seen.has(row_id)) found.push(shown(stored))
    last = rows.at(-1)?.row_id ?? last
    isMore = rows.length === LISTED_AT_ONCE
  }
  return found.slice(0, most)
}

/** The names in the first of its rejects that is JSON, then those after its latest changes, then those before them; the latest first. */
function namesIn(ofRejects: readonly Document[], ofChanges: readonly Document[]): Named[] {
  const read = (all: readonly Document[]) => all.map(({ document }) => parsedJson(document)).filter(isMapping)
  const [rejects, changes] = [read(ofRejects), read(ofChanges)]
  const sideOf = (change: unknown, side: number): unknown => (Array.isArray(change) ? change[side] : undefined)
  return [
    ...rejects.slice(0, 1).map((reject) => namesBy((field) => reject[field])),
    ...[1, 0].flatMap((side) => changes.map((change) => namesBy((field) => sideOf(change[field], side)))),
  ]
}

function namesBy(valueOf: (field: keyof Named) => unknown): Named {
  return { name: textOf(valueOf('name')), username: textOf(valueOf('username')), email: textOf(valueOf('email')) }
}

/** A field of a rejected record may be anything. An object or an array is searched for as JSON. */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : null
}

const NAMES = ['name', 'username', 'email'] as const

/** Hidden values cannot be searched for: a hash is in no answer of the service. */
function shownNames(run: Pick<Run, 'privacy'>): <Row extends Named>(row: Row) => Row {
  const shown = searchedNames(run)
  const hidden = Object.fromEntries(NAMES.filter((name) => !shown.includes(name)).map((name) => [name, null]))
  return (row) => ({ ...row, ...hidden })
}

function searchedNames({ privacy }: Pick<Run, 'privacy'>): (keyof Named)[] {
  return NAMES.filter((field) => privacy === undefined || !hides(privacy.policy, field))
}
