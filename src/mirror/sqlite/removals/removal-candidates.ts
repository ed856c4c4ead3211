import type { Absent, Candidate, Listed, Run } from '../../../run.ts'
import type { Mirror } from '../../../store.ts'
import type { Connection } from '../opening/database.ts'
import { MOST_CHANGES, namesIn } from '../../earlier-names.ts'
import { findUnjudged } from './older-list.ts'
import { searchedNames, shownNames } from '../../shown-names.ts'
import { isCandidate } from '../../rules/removal-rule.ts'
import { areTooManyAbsent, findAbsent, findListedBefore, mayBeCandidates } from './find-absent.ts'
import { statement } from '../statement.ts'

/**
 * The customers that the scan is about to remove; the caller searches for them first. Empty if a guard would hold them back or the
 * list may be older than the last one read.
 */
export function findRemovalCandidates(
  db: Connection,
  run: Run,
  { rule, proof, serviceMs }: Parameters<Mirror['findRemovalCandidates']>[1],
): Candidate[] {
  if (!mayBeCandidates(db, run.organization, rule)) return []
  const { absent, notRemoved } = findAbsent(db, run) ?? { absent: [], notRemoved: 0 }
  const candidates = absent.filter((row) => isCandidate(row, rule, proof))
  if (candidates.length === 0) return []
  if (areTooManyAbsent(db, run, { absent: absent.length, notRemoved }, rule)) return []
  const unjudged = findUnjudged(db, run, absent, serviceMs)
  return asCandidates(
    db,
    run,
    candidates.filter(({ rowId }) => !unjudged.has(rowId)),
  )
}

/** Those of the rows that a quick run is about to mark as missing, to be searched for first. */
export function findGone(db: Connection, run: Run, rowIds: readonly number[]): Candidate[] {
  return asCandidates(
    db,
    run,
    rowIds.flatMap((rowId) => findListedBefore(db, run, rowId) ?? []),
  )
}

/** The customers with the names to search for, those of before included. */
function asCandidates(db: Connection, run: Run, rows: readonly Absent[]): Candidate[] {
  const shown = shownNames(run)
  const rejected = findRejected(db, run.organization, rows)
  return rows.map((row) => {
    const names = namesIn(rejected.get(row.id) ?? [], findChanges(db, run.organization, row.id))
    return { ...shown(row), earlier: names.map(shown) }
  })
}

/**
 * The latest reject of each customer that has one, by id. For all customers at once: rejects that are resolved are in no index
 * by their ids, so all of them are read.
 */
function findRejected(db: Connection, organization: string, rows: readonly Absent[]): Map<string, string[]> {
  if (rows.length === 0) return new Map()
  const ids = JSON.stringify(rows.map(({ id }) => id))
  const rejected = statement<[Record<string, unknown>], { id: string; payload: string }>(
    db,
    `SELECT id, payload, MAX(seen_at)
     FROM (
       SELECT record_id AS id, payload, seen_at FROM rejects
       WHERE organization = @organization AND resolved_at IS NULL AND record_key IN (SELECT value FROM json_each(@ids))
       UNION ALL SELECT record_id, payload, seen_at FROM rejects
       WHERE organization = @organization AND resolved_at IS NOT NULL AND record_id IN (SELECT value FROM json_each(@ids))
     )
     WHERE json_valid(payload) GROUP BY id`,
  )
  return new Map(rejected.all({ organization, ids }).map(({ id, payload }) => [id, [payload]]))
}

/** The fields of the latest changes of a customer. */
function findChanges(db: Connection, organization: string, id: string): string[] {
  return statement<[string, string], string>(
    db,
    `SELECT fields FROM changes
     WHERE organization = ? AND id = ? AND json_valid(fields) ORDER BY seq DESC LIMIT ${MOST_CHANGES}`,
  )
    .pluck()
    .all(organization, id)
}

/** Received customers for testing searches, at most `most`: first those with a value in each field to search by. */
export function findListed(db: Connection, run: Run, most: number): Listed[] {
  const customers = statement<[string], Listed & { row_id: number }>(
    db,
    `SELECT row_id, id, name, username, email FROM customers WHERE organization = ? AND removed_at IS NULL`,
  )
  const named: Listed[] = []
  const others: Listed[] = []
  const shown = shownNames(run)
  const searched = searchedNames(run)
  for (const { row_id, ...stored } of customers.iterate(run.organization)) {
    if (!run.seen.has(row_id)) continue
    const customer = shown(stored)
    const isNamed = searched.every((field) => customer[field] !== null && customer[field] !== '')
    if (isNamed && named.push(customer) === most) break
    if (!isNamed && (customer.username ?? customer.email) !== null && others.length < most) others.push(customer)
  }
  return [...named, ...others].slice(0, most)
}
