import { daysOfChanges, type Due } from '../../rules/retention-rule.ts'
import type { Session } from '../session.ts'
import type { Deletion } from './prune.ts'

/** The organization, the first day that stays, and the last one that is believed. */
type Days = readonly [organization: string, day: string, last: string]

/**
 * Deletes changes from before a day, from the beginning of the feed on: never one that comes after a change that stays, so that a date
 * that was written by a wrong clock deletes nothing else.
 */
export function changesPruning(organization: string, { beforeMs, asOfMs }: Due): Deletion {
  const { day, last } = daysOfChanges(beforeMs, asOfMs)
  const days: Days = [organization, day, last]
  let seq: number | undefined
  return async (session, most) => {
    seq ??= await lastOldChange(session, days)
    if (seq === undefined) return 0
    const deleted = await deleteUntil(session, days, { seq, most })
    if (deleted > 0) await moveHorizon(session, { organization, seq, from: day })
    return deleted
  }
}

/**
 * The last change of the organization before its first one that stays; undefined where none is old. Numbers between the two are of other
 * organizations, and a reader who does not have those yet lacks nothing that is deleted.
 */
async function lastOldChange(session: Session, [organization, day, last]: Days): Promise<number | undefined> {
  const found = await session.first<{ seq: number | null }>(
    `SELECT CASE WHEN first.seq IS NULL
       THEN (SELECT max(seq) FROM changes WHERE organization = $1 AND at < $2::timestamptz)
       ELSE (SELECT max(changes.seq) FROM changes WHERE organization = $1 AND changes.seq < first.seq
         AND (at < $2::timestamptz OR at >= $3::timestamptz + interval '1 day')) END AS seq
     FROM (SELECT min(seq) AS seq FROM changes
       WHERE organization = $1 AND at >= $2::timestamptz AND at < $3::timestamptz + interval '1 day') AS first
     WHERE EXISTS (SELECT FROM changes WHERE organization = $1 AND at < $2::timestamptz)`,
    organization,
    day,
    last,
  )
  return found?.seq ?? undefined
}

/**
 * Old ones, and those between them that a clock far ahead has dated into the future. As an array, so that each is looked up: joined, the server
 * reads all changes at each step.
 */
async function deleteUntil(
  session: Session,
  [organization, day, last]: Days,
  { seq, most }: { seq: number; most: number },
): Promise<number> {
  const deleteSome = (condition: string, time: string, number: number) =>
    session.run(
      `DELETE FROM changes WHERE seq = ANY (ARRAY(
         SELECT seq FROM changes WHERE organization = $1 AND ${condition} AND seq <= $3 LIMIT $4))`,
      ...[organization, time, seq, number],
    )
  const old = await deleteSome('at < $2::timestamptz', day, most)
  if (old === most) return old
  return old + (await deleteSome(`at >= $2::timestamptz + interval '1 day'`, last, most - old))
}

/** From now on views take no notice of what is before, deleted or not yet. */
async function moveHorizon(
  session: Session,
  { organization, seq, from }: { organization: string; seq: number; from: string },
): Promise<void> {
  await session.run(
    `INSERT INTO horizons (organization, pruned_seq, feed_seq, history_from) VALUES ($1, $2, $2, $3::timestamptz)
     ON CONFLICT (organization) DO UPDATE SET pruned_seq = greatest(horizons.pruned_seq, excluded.pruned_seq),
       feed_seq = greatest(horizons.feed_seq, excluded.feed_seq),
       history_from = greatest(horizons.history_from, excluded.history_from)`,
    organization,
    seq,
    from,
  )
}
