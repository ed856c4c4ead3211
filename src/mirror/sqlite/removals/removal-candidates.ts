import type { Absent, Candidate, Listed, Named, RemovalRule, RemovingProof, Run } from '../../../run.ts'
import type { Connection } from '../database.ts'
import { findUnjudged } from '../older-list.ts'
import { searchedNames, shownNames } from '../../shown-names.ts'
import { isCandidate } from '../../removal-rule.ts'
import { areTooManyAbsent, findAbsent, findListedBefore, mayBeCandidates } from './removals.ts'
import { statement } from '../statement.ts'

/**
 * The customers that the scan is about to remove; the caller searches for them first. Empty if a guard would hold them back or the
 * list may be older than the last one read.
 */
export function findRemovalCandidates(
  db: Connection,
  run: Run,
  { rule, proof }: { rule: RemovalRule; proof: RemovingProof },
): Candidate[] {
  if (!mayBeCandidates(db, run.organization, rule)) return []
  const absent = findAbsent(db, run) ?? []
  const candidates = absent.filter((row) => isCandidate(row, rule, proof))
  if (candidates.length === 0 || areTooManyAbsent(db, run, absent.length, rule)) return []
  const unjudged = findUnjudged(db, run, absent)
  if (unjudged.size === absent.length) return []
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
  return rows.map((row) => ({ ...shown(row), earlier: findEarlier(db, run.organization, row.id).map(shown) }))
}

/** How many changes of one customer are read. Each has two values of a field. */
const MOST_CHANGES = 3

/**
 * Earlier names of a customer that differ from its row: the row may have been edited by hand, a record may have been rejected, and
 * a change may have been reverted.
 */
function findEarlier(db: Connection, organization: string, id: string): Named[] {
  return statement<[Record<string, unknown>], Named>(
    db,
    `WITH latest AS (
       SELECT fields FROM changes
       WHERE organization = @organization AND id = @id AND json_valid(fields) ORDER BY seq DESC LIMIT ${MOST_CHANGES}
     ), reject AS (
       SELECT payload FROM rejects
       WHERE organization = @organization AND record_id = @id AND json_valid(payload) ORDER BY seen_at DESC LIMIT 1
     )
     SELECT payload ->> '$.name' AS name, payload ->> '$.username' AS username, payload ->> '$.email' AS email FROM reject
     UNION ALL SELECT fields ->> '$.name[1]', fields ->> '$.username[1]', fields ->> '$.email[1]' FROM latest
     UNION ALL SELECT fields ->> '$.name[0]', fields ->> '$.username[0]', fields ->> '$.email[0]' FROM latest`,
  )
    .all({ organization, id })
    .map(({ name, username, email }) => ({ name: textOf(name), username: textOf(username), email: textOf(email) }))
}

/** A field of a rejected record may be anything. */
function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
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
