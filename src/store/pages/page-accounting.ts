import type { Emptied, Run } from '../../model/run.ts'
import type { PagesSaved } from '../../model/mirror.ts'
import { addWarnings, type TextField } from '../../model/customer.ts'
import { AccountingBroken } from '../../errors/errors.ts'
import { addRecords, addsUp, type RecordCounts } from '../../model/report.ts'
import { RowSet } from '../../model/row-set.ts'

/** Adds the results of a committed transaction to the run's numbers. */
export function addSaved(run: Run, saved: PagesSaved): void {
  run.pages += saved.pages.length
  addRecords(run.records, saved.records)
  addWarnings(run.warnings, saved.warnings)
  run.seen.addAll(saved.seen)
  run.receivedSince.addAll(saved.seen)
  for (const id of saved.rejectedIds) run.rejectedIds.add(id)
  for (const number of saved.suppressed) run.suppressed.add(number)
  run.written.addAll(saved.written)
  run.readBefore -= saved.writtenAgain
  for (const [field, rows] of saved.emptied) emptiedIn(run.emptied, field).addAll(rows)
  run.unwritten.addAll(saved.unwritten)
  for (const [field, customers] of saved.gained) countGained(run.gained, field, customers)
}

/** The rows of a field, to add some. */
export function emptiedIn(emptied: Emptied, field: TextField): RowSet {
  const rows = emptied.get(field) ?? new RowSet()
  emptied.set(field, rows)
  return rows
}

/** A service may send other fields with each record: only so many are counted. */
const MOST_GAINED = 100

/** Adds customers that have a field now which they did not have. */
export function countGained(gained: Map<string, number>, field: string, customers: number): void {
  if (gained.size < MOST_GAINED || gained.has(field)) gained.set(field, (gained.get(field) ?? 0) + customers)
}

/** Throws AccountingBroken unless the numbers of a run add up, as stored and as counted. */
export function requireSum(
  { organization, id, records }: Pick<Run, 'organization' | 'id' | 'records'>,
  stored: RecordCounts | undefined,
): void {
  if (stored !== undefined && addsUp(stored) && addsUp(records)) return
  throw new AccountingBroken(
    `${organization}: the numbers of run ${id} do not add up. What it saved is kept, but it does not count as ` +
      'complete. This is a defect of Customer Mirror; please report it.',
  )
}

/** Throws AccountingBroken unless a table took every row that it was given, so that the transaction is rolled back. */
export function requireTaken(
  { organization }: { organization: string },
  table: string,
  { given, taken }: { given: number; taken: number },
): void {
  if (taken !== given) throw notTaken(organization, table, { given, taken })
}

/** Something in the mirror itself changes what a statement writes: a trigger, or in PostgreSQL also a rule or a policy. */
export function notTaken(
  organization: string,
  table: string,
  { given, taken }: { given: number; taken: number },
): AccountingBroken {
  return new AccountingBroken(
    `${organization}: ${taken} of ${given} rows could be written or deleted in table ${table}. Nothing of this step was kept. Look for a ` +
      `trigger, a rule or a policy that someone added to ${table}, drop it, then try again.`,
  )
}
