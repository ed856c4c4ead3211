import type { Connection } from '../opening/database.ts'
import { daysOfChanges, type Due } from '../../rules/retention-rule.ts'
import type { Deletion } from './retention-verbs.ts'
import { statement } from '../statement.ts'

/** Days (UTC) as text: changes before `day` are old, and those after `last` were dated by a wrong clock. */
type Days = { organization: string; day: string; last: string }

/**
 * Deletes changes from before a day, from the beginning of the feed on: never one that comes after a change that stays, so that a date
 * that was written by a wrong clock deletes nothing else.
 */
export function changesPruning(db: Connection, organization: string, { beforeMs, asOfMs }: Due): Deletion {
  const days = { organization, ...daysOfChanges(beforeMs, asOfMs) }
  let seq: number | undefined
  return (most) => {
    seq ??= lastOldChange(db, days)
    if (seq === undefined) return 0
    const deleted = deleteUntil(db, { ...days, seq, most })
    if (deleted > 0) moveHorizon(db, { organization, seq, from: `${days.day} 00:00:00.000` })
    return deleted
  }
}

/**
 * The last change of the organization before its first one that stays; undefined where none is old. Numbers between the two are of other
 * organizations, and a reader who does not have those yet lacks nothing that is deleted.
 */
function lastOldChange(db: Connection, days: Days): number | undefined {
  const old = statement<[Days], number>(db, `SELECT 1 FROM changes WHERE ${OLD} LIMIT 1`).pluck().get(days)
  if (old === undefined) return undefined
  const first = statement<[Days], number | null>(db, FIRST_TO_STAY).pluck().get(days)
  if (typeof first === 'number') {
    const find = statement<[Days & { first: number }], number | null>(db, LAST_BEFORE).pluck()
    return find.get({ ...days, first }) ?? undefined
  }
  return statement<[Days], number>(db, `SELECT MAX(seq) FROM changes WHERE ${OLD}`).pluck().get(days)
}

const OLD = 'organization = @organization AND substr(at, 1, 10) < @day'

/** Day by day in the index, since changes are in the order of their days but for clocks that were set. */
const FIRST_TO_STAY = `
  WITH RECURSIVE days (day) AS (
    SELECT MIN(substr(at, 1, 10)) FROM changes
    WHERE organization = @organization AND substr(at, 1, 10) BETWEEN @day AND @last
    UNION ALL
    SELECT (SELECT MIN(substr(at, 1, 10)) FROM changes
      WHERE organization = @organization AND substr(at, 1, 10) > days.day AND substr(at, 1, 10) <= @last)
    FROM days WHERE day IS NOT NULL
  )
  SELECT MIN((SELECT MIN(seq) FROM changes WHERE organization = @organization AND substr(at, 1, 10) = day))
  FROM days WHERE day IS NOT NULL`

/** By days, since the changes of an organization may be few among many. */
const LAST_BEFORE = `
  SELECT MAX(seq) FROM changes
  WHERE organization = @organization AND (substr(at, 1, 10) < @day OR substr(at, 1, 10) > @last) AND +seq < @first`

/** Old ones, and those between them that a clock far ahead has dated into the future. */
function deleteUntil(db: Connection, { most, ...until }: Days & { seq: number; most: number }): number {
  const deleteSome = (condition: string, number: number) =>
    statement(
      db,
      `DELETE FROM changes WHERE seq IN (
         SELECT seq FROM changes WHERE organization = @organization AND ${condition} AND seq <= @seq LIMIT @number)`,
    ).run({ ...until, number }).changes
  const old = deleteSome('substr(at, 1, 10) < @day', most)
  return old === most ? old : old + deleteSome('substr(at, 1, 10) > @last', most - old)
}

/** From now on views take no notice of what is before, deleted or not yet. */
function moveHorizon(db: Connection, horizon: { organization: string; seq: number; from: string }): void {
  statement(
    db,
    `INSERT INTO horizons (organization, pruned_seq, feed_seq, history_from) VALUES (@organization, @seq, @seq, @from)
     ON CONFLICT DO UPDATE SET pruned_seq = max(pruned_seq, excluded.pruned_seq), feed_seq = max(feed_seq, excluded.feed_seq),
       history_from = max(coalesce(history_from, ''), excluded.history_from)`,
  ).run(horizon)
}
