import { addsUp, type RecordCounts } from '../../src/model/report.ts'
import { customerId } from '../support/builders.ts'
import { type Reader, type Row, storedText } from '../support/mirror-reader.ts'
import { type Follower, type Model, policyOf } from './model.ts'

/** What the mirror says that is not so. */
export function untruthsOf(db: Reader, model: Model): string[] {
  return [
    ...rowUntruths(db, model),
    ...tableUntruths(db, model),
    ...viewUntruths(db),
    ...byteUntruths(db.address, model),
  ]
}

function rowUntruths(db: Reader, model: Model): string[] {
  return [...model].flatMap(([name, { held }]) => {
    const active = db.all('SELECT id FROM active_customers WHERE organization = ? ORDER BY id', name)
    const got = active.map(({ id }) => String(id)).join()
    const wanted = Array.from(held.active, customerId).toSorted().join()
    return got === wanted ? [] : [`${name} active: ${got} instead of ${wanted}`]
  })
}

function tableUntruths(db: Reader, model: Model): string[] {
  const untruths = ['integrity_check', 'foreign_key_check'].flatMap((check) =>
    db
      .all(`PRAGMA ${check}`)
      .map((row) => JSON.stringify(row))
      .filter((text) => text !== '{"integrity_check":"ok"}'),
  )
  const tables = db.all(`SELECT name FROM sqlite_schema WHERE type = 'table'
       AND EXISTS (SELECT 1 FROM pragma_table_info(sqlite_schema.name) WHERE name = 'organization')`)
  for (const { name } of tables)
    for (const { organization } of db.all(`SELECT DISTINCT organization FROM "${String(name)}"`))
      // Hashes of an organization that a restored backup does not have are kept for its return, and where its feed begins then.
      if (!model.has(String(organization)) && !/^(forgotten|horizons$)/.test(String(name)))
        untruths.push(`${String(name)} has ${String(organization)}`)
  const runs = db.all<RecordCounts & { id: number }>('SELECT * FROM runs')
  for (const run of runs) if (!addsUp(run)) untruths.push(`run ${run.id} does not add up`)
  for (const [what, sql] of Object.entries(NOTHING))
    for (const row of db.all(sql)) untruths.push(`${what}: ${JSON.stringify(row)}`)
  return untruths
}

/** Queries that find nothing in a mirror whose tables agree. */
const NOTHING = {
  'is_active differs from removed_at': 'SELECT row_id FROM customers WHERE is_active <> (removed_at IS NULL)',
  'an absence is of another organization or of no missing customer': `SELECT row_id FROM absences
     LEFT JOIN customers USING (organization, row_id) WHERE customers.id IS NULL
       OR missing_since IS NULL OR removed_at IS NOT NULL`,
  'a missing customer has no absence': `SELECT row_id FROM customers WHERE missing_since IS NOT NULL AND removed_at IS NULL
     AND NOT EXISTS (SELECT 1 FROM absences
       WHERE absences.organization = customers.organization AND absences.row_id = customers.row_id)`,
  'a change after the last update': `SELECT row_id FROM customers
     WHERE updated_at > (SELECT updated_at FROM last_update)`,
  'a removed customer without the change': `SELECT row_id FROM customers
     WHERE removed_at IS NOT NULL AND 'removed' IS NOT (SELECT change FROM changes
       WHERE changes.organization = customers.organization AND changes.id = customers.id ORDER BY seq DESC LIMIT 1)
     AND EXISTS (SELECT 1 FROM changes
       WHERE changes.organization = customers.organization AND changes.id = customers.id)`,
  'an active customer whose last change is a removal': `SELECT row_id FROM customers
     WHERE removed_at IS NULL AND 'removed' IS (SELECT change FROM changes
       WHERE changes.organization = customers.organization AND changes.id = customers.id ORDER BY seq DESC LIMIT 1)`,
  'a retired organization with active customers': `SELECT id FROM active_customers
     WHERE organization IN (SELECT organization FROM freshness WHERE retired_at IS NOT NULL)`,
  'a run has suppressed more than was received': 'SELECT id FROM runs WHERE suppressed > received',
  'windows of a run that cannot be continued': `SELECT run_id FROM windows JOIN runs ON runs.id = run_id
     WHERE status = 'complete' GROUP BY run_id`,
} as const

/** Freshness, daily counts and history, which count the same customers. */
function viewUntruths(db: Reader): string[] {
  const counted = db.all(`SELECT organization, freshness.active AS fresh,
       (SELECT COUNT(*) FROM active_customers WHERE active_customers.organization = freshness.organization) AS active,
       (SELECT active FROM customers_daily WHERE customers_daily.organization = freshness.organization
         ORDER BY day DESC LIMIT 1) AS daily,
       (SELECT COUNT(*) FROM customers_history WHERE customers_history.organization = freshness.organization
         AND valid_to IS NULL) AS history
     FROM freshness`)
  const untruths = counted
    .filter(({ fresh, active, daily, history }) => new Set([fresh, active, daily ?? active, history]).size > 1)
    .map((row) => `counts differ: ${JSON.stringify(row)}`)
  const negative = db.all('SELECT * FROM customers_daily WHERE min(active, added, removed, changed) < 0')
  return [...untruths, ...negative.map((row) => `a negative count: ${JSON.stringify(row)}`)]
}

/** Forgotten customers and hidden values, anywhere in the bytes. */
function byteUntruths(file: string, model: Model): string[] {
  const found = textsIn(file)
  const untruths: string[] = []
  for (const [name, { held, service }] of model) {
    for (const n of held.forgotten)
      for (const id of [customerId(n), customerId(n).replaceAll('-', '')])
        if (found.has(id)) untruths.push(`${name}: the id of ${n}, who is forgotten`)
    const { hash = [], drop = [], key = 0 } = held.hides ?? {}
    const policy = policyOf({ hash, drop, key })
    const hidden = new Set([...hash, ...drop])
    for (const { n, field, text } of service.sent) {
      const isForgotten = held.forgotten.has(n)
      if ((isForgotten || hidden.has(field)) && found.has(text))
        untruths.push(`${name}: ${field} of ${n}, ${isForgotten ? 'who is forgotten' : 'which is hidden'}`)
      if (isForgotten && hash.includes(field) && found.has(policy.hashOf(text)))
        untruths.push(`${name}: the hash of ${field} of ${n}, who is forgotten`)
    }
  }
  return untruths
}

/** The ids, the values and the hashes in all that is stored. */
export function textsIn(address: string): Set<string> {
  return new Set(storedText(address).toLowerCase().match(TEXTS))
}

const TEXTS =
  /tok\d+q\d+q(?:name|username|email|phone|address)|hmac:[0-9a-f]{64}|[0-9a-f]{8}-?0000-?4000-?8000-?[0-9a-f]{12}/g

/** The greatest numbers that were given out. */
export function numbersIn(db: Reader): { seq: number; run: number } {
  const greatest = (table: string, column: string) =>
    Number(db.all(`SELECT MAX(${column}) AS greatest FROM ${table}`)[0]?.['greatest'] ?? 0)
  return { seq: greatest('changes', 'seq'), run: greatest('runs', 'id') }
}

const VALUES = ['name', 'username', 'email', 'phone', 'address'] as const

const ALL = `SELECT organization, id, ${VALUES.join(', ')}, removed_at, is_active, updated_at FROM customers`

const ITS_CHANGE =
  'SELECT 1 FROM changes WHERE changes.organization = customers.organization AND changes.id = customers.id'

export function aFollower(db: Reader): Follower {
  const all = byKey(db.all(ALL))
  const [last] = db.all(
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
  return db.all('SELECT 1 FROM horizons WHERE feed_seq > ? OR customers_from > ? LIMIT 1', seq, stamp).length > 0
}

/**
 * The active customers as the feed gives them, and all customers as `updated_at` does; each beside what the mirror holds. A follower
 * is not changed: it may read later, and all at once.
 */
export function follow(db: Reader, follower: Follower) {
  const active = new Map(follower.active)
  const changes = db.all(
    `SELECT organization, id, change, coalesce(fields, '{}') AS fields FROM changes WHERE seq > ? ORDER BY seq`,
    follower.seq,
  )
  const now = byKey(db.all(ALL))
  for (const change of changes) {
    const key = keyOf(change)
    if (change['change'] === 'removed') active.delete(key)
    else if (change['change'] === 'changed') active.set(key, { ...active.get(key), ...after(change) })
    else active.set(key, now.get(key) ?? {})
  }
  // Who was written without a change: an organization that was first read later.
  for (const row of db.all(`${ALL} WHERE removed_at IS NULL AND NOT EXISTS (${ITS_CHANGE})`))
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
