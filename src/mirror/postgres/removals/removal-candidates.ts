import type { Absent, Candidate, Listed, Run, Named } from '../../../run.ts'
import type { Mirror } from '../../../store.ts'
import { isCandidate } from '../../rules/removal-rule.ts'
import { searchedNames, shownNames } from '../../shown-names.ts'
import { findUnjudged } from './older-list.ts'
import { rangesOf } from './row-ranges.ts'
import type { Session } from '../session.ts'
import { areTooManyAbsent, findAbsent, findListedBefore, mayBeCandidates } from './find-absent.ts'
import { MOST_CHANGES, namesIn } from '../../earlier-names.ts'

/**
 * The customers that the scan is about to remove; the caller searches for them first. Empty if a guard would hold them back or the
 * list may be older than the last one read.
 */
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

/** The customers with the names to search for, those of before included. */
async function asCandidates(session: Session, run: Run, rows: readonly Absent[]): Promise<Candidate[]> {
  const shown = shownNames(run)
  const earlier = await findEarlier(
    session,
    run.organization,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => ({ ...shown(row), earlier: (earlier.get(row.id) ?? []).map(shown) }))
}

/** Received customers for testing searches, at most `most`: first those with a value in each field to search by. */
export async function findListed(session: Session, run: Run, most: number): Promise<Listed[]> {
  const searched = searchedNames(run)
  const isNamed = searched.map((field) => `coalesce(${field}, '') <> ''`).join(' AND ') || 'true'
  const others = searched.filter((field) => field !== 'name').map((field) => `${field} IS NOT NULL`)
  const listed = await session.all<Listed>(
    `SELECT id, name, username, email FROM customers
     WHERE organization = $1 AND removed_at IS NULL AND row_id <@ $2::int8multirange
       AND (${[isNamed, ...others].map((condition) => `(${condition})`).join(' OR ')})
     ORDER BY (${isNamed}) DESC, id LIMIT $3`,
    run.organization,
    rangesOf(run.seen),
    most,
  )
  return listed.map(shownNames(run))
}

/** How many rejects of one customer are read, to find one that is JSON. */
const MOST_REJECTS = 3

/**
 * Earlier names of customers that differ from their rows, by id: the row may have been edited by hand, a record may have been
 * rejected, and a change may have been reverted.
 */
export async function findEarlier(
  session: Session,
  organization: string,
  ids: readonly string[],
): Promise<Map<string, Named[]>> {
  if (ids.length === 0) return new Map()
  const rejected = new Map<string, string[]>()
  for (const { id, payload } of await session.all<{ id: string; payload: string }>(REJECTED, organization, ids))
    rejected.set(id, [...(rejected.get(id) ?? []), payload])
  const rows = await session.all<{ id: string; fields: string[] }>(CHANGED, organization, ids)
  return new Map(rows.map(({ id, fields }) => [id, namesIn(rejected.get(id) ?? [], fields)]))
}

/** Rejects that are resolved are in no index by their ids: for all customers at once, so that each reject is read once. */
const REJECTED = `
  SELECT record_id AS id, payload FROM (
    SELECT record_id, payload, row_number() OVER (PARTITION BY record_id ORDER BY seen_at DESC) AS number
    FROM rejects WHERE organization = $1 AND record_id = ANY ($2::text[])
  ) AS latest
  WHERE number <= ${MOST_REJECTS} ORDER BY record_id, number`

const CHANGED = `
  SELECT asked.id,
    ARRAY(SELECT fields::text FROM changes
      WHERE changes.organization = $1 AND changes.id = asked.id AND fields IS NOT NULL
      ORDER BY seq DESC LIMIT ${MOST_CHANGES}) AS fields
  FROM unnest($2::text[]) AS asked (id)`
