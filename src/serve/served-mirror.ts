import { statSync } from 'node:fs'
import { isPostgres } from '../address/mirror-address.ts'
import { folded } from '../copies/read-rows.ts'
import { TEXT_FIELDS, type TextField } from '../model/customer.ts'
import { either, joined, sql, type Sql, text } from '../store/port/sql.ts'
import { sqliteStore } from '../store/port/sqlite-store.ts'
import { countOf, records, type Session, type Store } from '../store/port/store.ts'
import { openToRead } from '../store/sqlite/open-to-read.ts'

/** A customer as it is served: the documented fields as the service sent them, and those that the specification does not know. */
type ServedCustomer = { id: string } & Record<TextField, string | null> & Record<string, unknown>

/** What a page is made of: its customers and how many there are in all, from one state, and how current that is. */
export type ServedPage = { rows: ServedCustomer[]; total: number; readAsOfMs: number; proof: string }

export type Asked = { organization: string; page: number; perPage: number; search: string; language: string }

/** The mirror has no customers of the organization to serve: it was not read to its end yet, or was retired, or they are left out. */
export class NotMirrored extends Error {
  override name = 'NotMirrored' as const
}

/** How long requests share one state of the mirror: a longer one would hold up its WAL. */
const SNAPSHOT_MS = 1000

/** Orders that are kept, the latest: one for each organization, and one for each filter that is asked for; and the rows in all of them. */
const [MOST_ORDERS, MOST_ROWS] = [200, 5_000_000]

/** A state of the mirror that some requests read. */
type Snapshot = {
  readonly session: Session
  readonly endsAtMs: number
  /** What was asked of this state already, by organization. */
  readonly states: Map<string, Promise<State>>
  /** Requests that read it. */
  reading: number
  /** Has it end as soon as no request reads it. */
  end(): void
}

/**
 * How current an organization is; when a customer was changed last, of whichever organization; and a text that is another one once customers of
 * this one are others, or were changed.
 */
type State = { readAsOfMs: number; proof: string; updatedAt: string; stamp: string }

/** Customers in the order of the list, by the numbers of their rows. */
type Order = readonly number[]

/**
 * What is searched of each customer of an organization, by the number of its row; and one after the other in the order of the list, with the
 * place at which each one of the list ends. Some 200 bytes each.
 */
type Texts = { updatedAt: string; ofRow: Map<number, string>; list: Order; inOrder: string; ends: readonly number[] }

/** What was made for the state with this stamp, or is being made; `rows` once they are known. */
type Kept<Made> = { readonly stamp: string; readonly made: Promise<Made>; rows: number }

/**
 * The active customers of a mirror in a file or a database, or of a published copy, as pages: by creation time and id, each page from one
 * state. It is opened when it is first asked for, and again once its file was replaced.
 */
export class ServedMirror {
  readonly #place: string
  readonly #monotonicMs: () => number
  #store: { opened: Promise<Store>; file: string } | undefined
  #snapshot: Promise<Snapshot> | undefined
  readonly #orders = new Map<string, Kept<Order>>()
  /** Kept for organizations in which something was searched for. */
  readonly #texts = new Map<string, Kept<Texts>>()

  constructor(place: string, monotonicMs: () => number) {
    this.#place = place
    this.#monotonicMs = monotonicMs
  }

  /** Throws NotMirrored, and MirrorUnusable for a mirror that cannot be read now. */
  async page({ organization, page, perPage, search, language }: Asked): Promise<ServedPage> {
    return this.#inSnapshot(async (snapshot) => {
      const state = await this.#stateOf(organization, snapshot)
      const order = await this.#orderOf({ organization, search, language }, state, snapshot.session)
      const from = (page - 1) * perPage
      const rows = await rowsIn(snapshot.session, organization, order.slice(from, from + perPage))
      return { rows, total: order.length, readAsOfMs: state.readAsOfMs, proof: state.proof }
    })
  }

  /** How current an organization is. Throws as `page` does. */
  async state(organization: string): Promise<Pick<State, 'readAsOfMs' | 'proof'>> {
    return this.#inSnapshot((snapshot) => this.#stateOf(organization, snapshot))
  }

  async close(): Promise<void> {
    const [snapshot, store] = [this.#snapshot, this.#store]
    this.#snapshot = this.#store = undefined
    await snapshot?.then((last) => last.end()).catch(() => {})
    await store?.opened.then((opened) => opened.close()).catch(() => {})
  }

  async #orderOf(filter: Filter, state: State, session: Session): Promise<Order> {
    const key = JSON.stringify(filter)
    const kept = keptFor(this.#orders, key, state, () => this.#findOrder(filter, state, session))
    const order = await kept.made
    kept.rows = order.length
    this.#letGoOfOrders(key)
    return order
  }

  /** Lets go of the oldest orders that are too many, but not of this one. */
  #letGoOfOrders(latest: string): void {
    let all = [...this.#orders.values()].reduce((sum, { rows }) => sum + rows, 0)
    for (const [oldest, { rows }] of this.#orders) {
      if (oldest === latest || (this.#orders.size <= MOST_ORDERS && all <= MOST_ROWS)) return
      this.#orders.delete(oldest)
      all -= rows
    }
  }

  async #findOrder(filter: Filter, state: State, session: Session): Promise<Order> {
    // No stored text has one, and PostgreSQL takes none.
    if (`${filter.search}${filter.language}`.includes('\0')) return []
    if (filter.search === '') return orderIn(session, filter)
    const { organization } = filter
    const list = await this.#orderOf({ organization, language: '', search: '' }, state, session)
    const texts = await keptFor(this.#texts, organization, state, async (before) =>
      textsIn(session, { organization, list, ...state }, await before?.catch(() => undefined)),
    ).made
    const found = rowsWith(folded(filter.search), texts)
    if (filter.language === '') return found
    const inLanguage = new Set(await this.#orderOf({ ...filter, search: '' }, state, session))
    return found.filter((rowId) => inLanguage.has(rowId))
  }

  #stateOf(organization: string, { session, states }: Snapshot): Promise<State> {
    const state = states.get(organization) ?? stateIn(session, organization)
    states.set(organization, state)
    return state
  }

  async #inSnapshot<Result>(work: (snapshot: Snapshot) => Promise<Result>): Promise<Result> {
    const current = this.#snapshot
    const last = await current?.catch(() => undefined)
    const isOver = (last?.endsAtMs ?? 0) <= this.#monotonicMs()
    if (isOver) last?.end()
    // Another request may have begun one meanwhile.
    if (isOver && this.#snapshot === current) this.#snapshot = this.#begin()
    const snapshot = await (this.#snapshot ??= this.#begin())
    snapshot.reading += 1
    try {
      return await work(snapshot)
    } catch (error) {
      // A server that was lost is asked anew.
      if (!(error instanceof NotMirrored)) this.#snapshot = undefined
      throw error
    } finally {
      snapshot.reading -= 1
      if (snapshot.endsAtMs <= this.#monotonicMs()) snapshot.end()
    }
  }

  /** Begins a transaction that lasts as long as requests read it, and no longer than a second after that. */
  async #begin(): Promise<Snapshot> {
    const store = await this.#openStore()
    const begun = Promise.withResolvers<Snapshot>()
    const ended = Promise.withResolvers<void>()
    const reading = store.read(async (session) => {
      const endsAtMs = this.#monotonicMs() + SNAPSHOT_MS
      const end = () => void (snapshot.reading === 0 && ended.resolve())
      const snapshot: Snapshot = { session, endsAtMs, states: new Map(), reading: 0, end }
      setTimeout(end, SNAPSHOT_MS + 1).unref()
      begun.resolve(snapshot)
      await ended.promise
    })
    reading.catch(begun.reject)
    return begun.promise
  }

  async #openStore(): Promise<Store> {
    const file = isPostgres(this.#place) ? '' : identityOf(this.#place)
    const before = this.#store
    if (before?.file === file) return before.opened
    this.#orders.clear()
    this.#texts.clear()
    void before?.opened.then((store) => store.close()).catch(() => {})
    const opened = openStore(this.#place)
    this.#store = { file, opened }
    // What could not be opened is tried again.
    opened.catch(() => (this.#store = undefined))
    return opened
  }
}

/** What was made for a state, made once for all requests that ask for it, and anew where that failed. The one asked for last comes last. */
function keptFor<Made>(
  all: Map<string, Kept<Made>>,
  key: string,
  { stamp }: State,
  make: (before: Promise<Made> | undefined) => Promise<Made>,
): Kept<Made> {
  const before = all.get(key)
  const kept = before?.stamp === stamp ? before : { stamp, made: make(before?.made), rows: 0 }
  all.delete(key)
  all.set(key, kept)
  if (kept !== before) kept.made.catch(() => all.get(key) === kept && all.delete(key))
  return kept
}

/** A text that is another one for another file of this name. */
function identityOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false })
  return found === undefined ? 'none' : `${found.dev}/${found.ino}`
}

async function openStore(place: string): Promise<Store> {
  if (isPostgres(place)) return (await import('../store/postgres/open-database.ts')).openDatabase(place, 'read')
  const db = openToRead(place)
  db.defaultSafeIntegers(false)
  const columns = db.prepare<[], string>(`SELECT name FROM pragma_table_info('customers')`).pluck().all()
  if (columns.includes('email')) return sqliteStore(db, place)
  db.close()
  throw new NotMirrored('The mirror is a copy without personal data, which has nothing to serve. Name another one.')
}

/** The number of a row; a copy has it under the name that every table has. */
const ROW_ID = either('rowid', 'row_id')

async function stateIn(session: Session, organization: string): Promise<State> {
  const [found] = await records<{ readAsOfMs?: number; proof?: string; retiredAtMs?: number }>(
    session,
    sql`SELECT read_as_of, proof, retired_at FROM freshness WHERE organization = ${organization}`,
  )
  const { readAsOfMs, proof = 'unproven', retiredAtMs } = found ?? {}
  if (retiredAtMs !== undefined) throw new NotMirrored(`The organization ${organization} was retired.`)
  if (readAsOfMs === undefined) throw new NotMirrored(`The organization ${organization} was not read to its end yet.`)
  const count = (removed: Sql) =>
    sql`(SELECT count(*) FROM customers WHERE organization = ${organization} AND ${removed})`
  const active = await countOf(session, sql`SELECT ${count(sql`true`)} - ${count(sql`removed_at IS NOT NULL`)}`)
  // The last change of any organization that readers see; no two share a moment.
  const last = await session.first<{ last: string | null }>(
    sql`SELECT ${either('max(updated_at)', 'CAST(max(updated_at) AS text)')} AS last FROM customers`,
  )
  const updatedAt = last?.last ?? ''
  return { readAsOfMs, proof, updatedAt, stamp: `${active} ${updatedAt}` }
}

/** Within a second, times sort by the rest of their text: a service sends all of them in one form. */
const BY_TIME = sql`ORDER BY created_at_utc NULLS FIRST,
  CASE WHEN created_at_utc IS NOT NULL THEN ${either('substr(created_at, 20)', 'substr(created_at, 20) COLLATE "C"')} END,
  ${either('id', 'id COLLATE "C"')}`

type Filter = Pick<Asked, 'organization' | 'search' | 'language'>

function orderIn(session: Session, { organization, language }: Filter): Promise<Order> {
  const ofLanguage = language === '' ? sql`true` : sql`language = ${language}`
  return session.numbers(
    sql`SELECT ${ROW_ID} FROM customers WHERE organization = ${organization} AND removed_at IS NULL AND ${ofLanguage} ${BY_TIME}`,
  )
}

type ToSearch = { organization: string; list: Order; updatedAt: string }

/** The texts of before with those that were changed since; all anew where there were none, or where a customer was forgotten. */
async function textsIn(session: Session, asked: ToSearch, before?: Texts): Promise<Texts> {
  const { organization, list, updatedAt } = asked
  const ofRow = before?.ofRow ?? new Map<number, string>()
  const since = either(sql`${before?.updatedAt}`, sql`${before?.updatedAt}::timestamptz`)
  const isChanged = before === undefined ? sql`true` : sql`updated_at >= ${since}`
  const changed = await session.all<Searched>(sql`
    SELECT ${ROW_ID} AS row_id, name, username, email FROM customers WHERE organization = ${organization} AND ${isChanged}`)
  for (const { row_id: rowId, name, username, email } of changed)
    ofRow.set(rowId, folded([name, username, email, ''].map((value) => value ?? '').join('\0')))
  const all = await countOf(session, sql`SELECT count(*) FROM customers WHERE organization = ${organization}`)
  if (before !== undefined && ofRow.size !== all) return textsIn(session, asked)
  const texts = list.map((rowId) => ofRow.get(rowId) ?? '')
  let end = 0
  return { updatedAt, ofRow, list, inOrder: texts.join(''), ends: texts.map(({ length }) => (end += length)) }
}

/** The customers of the list whose texts hold this one, which has no NUL: one stands at the end of each text. */
function rowsWith(wanted: string, { list, inOrder, ends }: Texts): Order {
  let at = inOrder.indexOf(wanted)
  return list.filter((_, place) => {
    const end = ends[place] ?? 0
    if (at === -1 || end <= at) return false
    at = inOrder.indexOf(wanted, end)
    return true
  })
}

type Searched = { row_id: number; name: string | null; username: string | null; email: string | null }

async function rowsIn(session: Session, organization: string, rowIds: readonly number[]): Promise<ServedCustomer[]> {
  if (rowIds.length === 0) return []
  const columns = joined(['id', ...TEXT_FIELDS].map((name) => text(`customers.${name}`)))
  const rows = await session.all<{ extra: string | null } & ServedCustomer>(sql`
    SELECT ${columns}, CAST(extra AS text) AS extra FROM ${either(
      sql`json_each(${JSON.stringify(rowIds)}) AS wanted CROSS JOIN customers ON customers.rowid = wanted.value ORDER BY wanted.key`,
      sql`unnest(${rowIds}::bigint[]) WITH ORDINALITY AS wanted (row_id, place)
        JOIN customers ON organization = ${organization} AND customers.row_id = wanted.row_id ORDER BY place`,
    )}`)
  return rows.map(({ extra, ...documented }) => ({ ...(extra === null ? {} : JSON.parse(extra)), ...documented }))
}
