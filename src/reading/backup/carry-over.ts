import type Database from 'better-sqlite3'
import { carryForgotten, nameInBackup, type CarriedForgotten } from './carry-forgotten.ts'
import { lastNumber } from '../last-number.ts'
import { mirroredIn } from '../organizations/mirrored-in.ts'

/** What a restored mirror has of the one that it replaces. */
export type CarriedOver = CarriedForgotten & {
  /** Whether the readers of the feed of the replaced mirror know, or may know, something else than the backup: then they need a new copy. */
  feedGoesBack: boolean
  /** Organizations that the replaced mirror does not have: they were renamed or forgotten after the backup. */
  onlyInBackup: string[]
}

/**
 * Takes from the mirror that is about to be replaced what must not go back in time: the numbers of changes and runs, the greatest
 * `updated_at`, and who is forgotten.
 */
export async function carryOver(from: Database.Database, to: Database.Database, nowMs: number): Promise<CarriedOver> {
  const [before, after] = [to, from].map((db) => ({ changes: lastNumber(db, 'changes'), stamp: lastUpdate(db) }))
  const [known, restored] = [mirroredIn(from), mirroredIn(to)]
  const onlyInBackup = restored.filter((organization) => !known.includes(organization))
  const isBehind =
    before !== undefined && after !== undefined && (after.changes > before.changes || after.stamp > before.stamp)
  // To forget an organization leaves neither a change nor a later row, and its readers have deleted it.
  const isAnother = keyIn(from) !== keyIn(to)
  const feedGoesBack = isBehind || isAnother || onlyInBackup.length > 0
  for (const table of ['changes', 'runs', 'forgotten']) {
    // A reader who has read all of the replaced feed has read less than one number more.
    const next = feedGoesBack && table === 'changes' ? 1 : 0
    setLastNumber(to, table, Math.max(lastNumber(from, table), lastNumber(to, table)) + next)
  }
  to.prepare('UPDATE last_update SET updated_at = max(updated_at, ?)').run(after?.stamp ?? '')
  if (isAnother) goOnFromTime(to, nowMs)
  if (feedGoesBack) {
    // Readers of an organization that came after the backup have rows of it, too.
    const came = known.filter((organization) => nameInBackup(from, to, organization) === organization)
    askForNewCopies(to, [...restored, ...came])
  }
  return { feedGoesBack, ...(await carryForgotten(from, to)), onlyInBackup }
}

/** For a restored mirror whose successor is lost: its numbers pass those that were given out after the backup, and readers take a new copy. */
export function passLostNumbers(db: Database.Database, nowMs: number): void {
  goOnFromTime(db, nowMs)
  askForNewCopies(db, mirroredIn(db))
}

/**
 * Nothing shows which numbers a lost mirror gave out. Readers and copies remember them, so numbers go on from the time, of which no mirror
 * has had as many: milliseconds for changes, seconds for runs.
 */
function goOnFromTime(db: Database.Database, nowMs: number): void {
  setLastNumber(db, 'changes', Math.max(lastNumber(db, 'changes') + 1, nowMs))
  setLastNumber(db, 'runs', Math.max(lastNumber(db, 'runs'), Math.floor(nowMs / 1000)))
}

/** The key that every mirror makes for itself and its backups have too. */
function keyIn(db: Database.Database): string | undefined {
  return db.prepare<[], string>('SELECT hex(key) FROM fingerprint_key').pluck().get()
}

function askForNewCopies(db: Database.Database, organizations: readonly string[]): void {
  db.prepare(
    `INSERT INTO horizons (organization, feed_seq) SELECT DISTINCT value, ? FROM json_each(?) WHERE true
     ON CONFLICT DO UPDATE SET feed_seq = excluded.feed_seq`,
  ).run(lastNumber(db, 'changes'), JSON.stringify(organizations))
}

function setLastNumber(db: Database.Database, table: string, seq: number): void {
  db.prepare('DELETE FROM sqlite_sequence WHERE name = ?').run(table)
  db.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, CAST(? AS INTEGER))').run(table, seq)
}

function lastUpdate(db: Database.Database): string {
  return db.prepare<[], string>('SELECT updated_at FROM last_update').pluck().get() ?? ''
}
