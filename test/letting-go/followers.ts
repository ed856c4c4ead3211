import type { Row } from '../support/mirror-file.ts'
import { rows, type Reader } from './reader.ts'

const VALUES = ['name', 'username', 'email', 'phone', 'address'] as const

/** A program that copied the active customers once, and follows the feed. */
export type Follower = {
  seq: number
  stamp: string
  active: Map<string, Row>
  all: Map<string, Row>
}

const ALL = `SELECT organization, id, ${VALUES.join(', ')}, removed_at, is_active, updated_at FROM customers`

const ITS_CHANGE =
  'SELECT 1 FROM changes WHERE changes.organization = customers.organization AND changes.id = customers.id'

export function aFollower(db: Reader): Follower {
  const all = byKey(rows(db, ALL))
  const [last] = rows(
    db,
    `SELECT (SELECT coalesce(MAX(seq), 0) FROM changes) AS seq, (SELECT coalesce(MAX(updated_at), '1970-01-01 00:00:00.000') FROM customers) AS stamp`,
  )
  return { seq: Number(last?.['seq']), stamp: String(last?.['stamp']), all, active: onlyActive(all) }
}

/** What it does not get through the feed, as the documents say: the commands name the statement to run. */
export function followerRuns(follower: Follower, change: (row: Row) => Row | undefined): void {
  for (const table of ['active', 'all'] as const)
    follower[table] = byKey(
      [...follower[table].values()].flatMap((row) => {
        const changed = change(row)
        return changed === undefined ? [] : [changed]
      }),
    )
}

/** Whether retention has deleted changes, or removed customers, that it had not read. */
export function isTooOld(db: Reader, { seq, stamp }: Follower): boolean {
  return rows(db, 'SELECT 1 FROM horizons WHERE feed_seq > ? OR customers_from > ? LIMIT 1', seq, stamp).length > 0
}

/**
 * The active customers as the feed gives them, and all customers as `updated_at` does; each beside what the mirror holds. A follower
 * is not changed: it may read later, and all at once.
 */
export function follow(db: Reader, follower: Follower) {
  const active = new Map(follower.active)
  const changes = rows(
    db,
    `SELECT organization, id, change, coalesce(fields, '{}') AS fields FROM changes WHERE seq > ? ORDER BY seq`,
    follower.seq,
  )
  const now = byKey(rows(db, ALL))
  for (const change of changes) {
    const key = keyOf(change)
    if (change['change'] === 'removed') active.delete(key)
    else if (change['change'] === 'changed') active.set(key, { ...active.get(key), ...after(change) })
    else active.set(key, now.get(key) ?? {})
  }
  // Who was written without a change: an organization that was first read later.
  for (const row of rows(db, `${ALL} WHERE removed_at IS NULL AND NOT EXISTS (${ITS_CHANGE})`))
    active.set(keyOf(row), row)
  const merged = new Map(follower.all)
  for (const [key, row] of now) if (String(row['updated_at']) > follower.stamp) merged.set(key, row)
  return {
    byFeed: { got: sorted(active), wanted: sorted(onlyActive(now)) },
    // Who was removed and deleted meanwhile is in no table.
    byUpdatedAt: { got: sorted(onlyActive(merged)), wanted: sorted(onlyActive(now)) },
  }
}

function after({ fields }: Row): Row {
  const changed: Record<string, [unknown, unknown]> = JSON.parse(String(fields))
  return Object.fromEntries(Object.entries(changed).map(([field, [, value]]) => [field, value]))
}

function onlyActive(all: ReadonlyMap<string, Row>): Map<string, Row> {
  return new Map([...all].filter(([, row]) => row['removed_at'] === null))
}

function byKey(all: readonly Row[]): Map<string, Row> {
  return new Map(all.map((row) => [keyOf(row), row]))
}

function keyOf({ organization, id }: Row): string {
  return `${String(organization)} ${String(id)}`
}

/** By key, with the values alone. */
function sorted(all: ReadonlyMap<string, Row>): string[] {
  return [...all].map(([key, row]) => [key, ...VALUES.map((field) => String(row[field]))].join(' ')).toSorted()
}
