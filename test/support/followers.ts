import { TEXT_FIELDS } from '../../src/model/customer.ts'
import type { Reader, Row } from './mirror-reader.ts'

type Customer = Row & { id: string; updated_at: string }
type Change = { seq: number; id: string; change: string; fields: string | null }

/** Other programs that follow an organization as the pages say, by `updated_at` and by `changes`: what they have is what the mirror has. */
export class Followers {
  readonly #organization: string
  readonly #rows = new Map<string, Customer>()
  #updatedAt = ''
  /** The last change that was read, once there is a baseline, and the fields of those who were active then. */
  #seq: number | undefined
  #active = new Map<string, Row>()
  #overlooked: ReadonlySet<string> = new Set()
  /** Customers that they read again as they had them. */
  readonly asBefore: string[] = []

  constructor(organization: string) {
    this.#organization = organization
  }

  /** They know nothing, as where a backup took the place of the mirror. */
  beginAnew(): void {
    this.#rows.clear()
    this.#updatedAt = ''
    this.#seq = undefined
  }

  /** The feed does not tell which fields another policy of privacy hides or shows. */
  overlook(fields: readonly string[]): void {
    this.#overlooked = new Set(fields)
  }

  /** Has them read on. Returns what they have otherwise than the mirror, and where its views disagree. */
  untruths(db: Reader): string[] {
    const all = <Found>(sql: string, ...more: unknown[]) => db.all<Found>(sql, this.#organization, ...more)
    const stored = all<Customer>('SELECT * FROM customers WHERE organization = ? ORDER BY updated_at')
    const active = fieldsById(stored.filter((row) => row['removed_at'] === null))
    const ids = new Set(stored.map(({ id }) => id))
    // They hear of a forgotten customer otherwise.
    for (const id of this.#active.keys()) if (!ids.has(id)) this.#active.delete(id)
    const versions = all<Customer>('SELECT * FROM customers_history WHERE organization = ? AND valid_to IS NULL')
    const days = all<{ active: number }>('SELECT active FROM customers_daily WHERE organization = ? ORDER BY day')
    const atEnd = days.at(-1)?.active ?? active.size
    const found = [
      ...this.#byStamps(stored),
      ...this.#byChanges(active, all<Change>(CHANGES, this.#seq ?? Number.MAX_SAFE_INTEGER)),
      ...(this.#seq === undefined ? [] : differences('the feed', this.#active, active, this.#overlooked)),
      ...differences('the history', fieldsById(versions), active),
      ...(versions.length > active.size ? ['the history has two versions of now'] : []),
      ...(atEnd === active.size ? [] : [`the last day ends with ${atEnd} of ${active.size} active customers`]),
    ]
    const isRead = all<{ read_as_of: string | null }>('SELECT read_as_of FROM freshness WHERE organization = ?')
    if (isRead[0]?.read_as_of != null) this.#seq = Number(db.value('SELECT max(seq) FROM changes') ?? 0)
    this.#active = active
    return found
  }

  #byStamps(stored: readonly Customer[]): string[] {
    for (const row of stored) {
      if (row.updated_at <= this.#updatedAt) continue
      if (withoutStamp(row) === withoutStamp(this.#rows.get(row.id))) this.asBefore.push(row.id)
      this.#rows.set(row.id, row)
    }
    this.#updatedAt = stored.at(-1)?.updated_at ?? this.#updatedAt
    const missed = stored.filter((row) => JSON.stringify(this.#rows.get(row.id)) !== JSON.stringify(row))
    return missed.map(({ id }) => `${id} was changed without its updated_at`)
  }

  #byChanges(active: Customers, changes: readonly Change[]): string[] {
    const untruths: string[] = []
    const joined = new Set<string>()
    for (const { seq, id, change, fields } of changes) {
      const had = this.#active.get(id)
      const joins = change === 'added' || change === 'returned'
      if (joins === (had !== undefined)) untruths.push(`change ${seq} says ${change} of ${id}`)
      if (change === 'removed') this.#active.delete(id)
      // Who joins is read from the mirror, as changed since.
      if (joins) this.#active.set(id, { ...active.get(id) })
      if (joins) joined.add(id)
      if (had === undefined || change !== 'changed' || joined.has(id)) continue
      for (const [field, [before, after]] of Object.entries<[unknown, unknown]>(JSON.parse(fields ?? '{}'))) {
        if (had[field] !== before && !this.#overlooked.has(field))
          untruths.push(`change ${seq} says that ${field} of ${id} was ${String(before)}`)
        had[field] = after
      }
    }
    return untruths
  }
}

const CHANGES = 'SELECT seq, id, change, fields FROM changes WHERE organization = ? AND seq > ? ORDER BY seq'

function withoutStamp(row: Customer | undefined): string {
  return JSON.stringify({ ...row, updated_at: '', last_run_id: 0 })
}

function fieldsById(rows: readonly Customer[]): Map<string, Row> {
  const fieldsOf = (row: Row) => Object.fromEntries([...TEXT_FIELDS, 'extra'].map((field) => [field, row[field]]))
  return new Map(rows.map((row) => [row.id, fieldsOf(row)]))
}

type Customers = ReadonlyMap<string, Row>

function differences(
  what: string,
  told: Customers,
  active: Customers,
  without: ReadonlySet<string> = new Set(),
): string[] {
  const ids = new Set([...told.keys(), ...active.keys()])
  const shown = (row: Row | undefined) =>
    JSON.stringify(row, (key, value: unknown) => (without.has(key) ? undefined : value))
  const differing = [...ids].filter((id) => shown(told.get(id)) !== shown(active.get(id)))
  return differing.map((id) => `${id} is another one in ${what}`)
}
