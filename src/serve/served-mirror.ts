import { statSync } from 'node:fs'
import { isPostgres } from '../address/mirror-address.ts'
import { folded } from '../copies/read-rows.ts'
import { TEXT_FIELDS, type TextField } from '../model/customer.ts'
import { either, joined, sql, type Sql, text } from '../store/port/sql.ts'
import { sqliteStore } from '../store/port/sqlite-store.ts'
import { records, type Session, type Store } from '../store/port/store.ts'
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

/** How current an organization is, and what was made for its customers as they are. */
type State = { readAsOfMs: number; proof: string; made: Made }

/**
 * The customers in the order of the list, by the numbers of their rows, and what is searched of them, of an earlier stamp until it is asked for.
 * The stamp is another one once customers of the organization are others, or were changed; it begins with when any customer was changed last.
 */
type Made = { stamp: string; order?: Promise<Order>; texts: Promise<Texts>; last?: { filter: string; found: Order } }
type Order = readonly number[]

/**
 * What is searched of the customers in the order, some 200 bytes of each; their texts also one after the other, with the place at which each one
 * ends.
 */
type Texts = { stamp: string; order: Order; list: Searched[]; all: string; ends: number[] }
type Searched = { text: string; language: string | null }

/**
 * The active customers of a mirror in a file or a database, or of a published copy, as pages: by creation time and id, each page from one
 * state. It is opened when it is first asked for, and again once its file was replaced.
 */
export class ServedMirror {
  readonly #place: string
  readonly #monotonicMs: () => number
  #store: { opened: Promise<Store>; file: string } | undefined
  #snapshot: Promise<Snapshot> | undefined
  /** By organization. */
  readonly #made = new Map<string, Made>()

  constructor(place: string, monotonicMs: () => number) {
    this.#place = place
    this.#monotonicMs = monotonicMs
  }

  /** Throws NotMirrored, and MirrorUnusable for a mirror that cannot be read now. */
  async page(asked: Asked): Promise<ServedPage> {
    const { organization, page, perPage } = asked
    return this.#inSnapshot(async (snapshot) => {
      const { made, ...state } = await this.#stateOf(organization, snapshot)
      const order = await orderOf(snapshot.session, asked, made)
      const from = (page - 1) * perPage
      const rows = await rowsIn(snapshot.session, organization, order.slice(from, from + perPage))
      return { rows, total: order.length, ...state }
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

  #stateOf(organization: string, { session, states }: Snapshot): Promise<State> {
    const state = states.get(organization) ?? stateIn(session, organization, this.#made)
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
      if (!(error instanceof NotMirrored)) {
        this.#snapshot = undefined
        this.#made.clear()
      }
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
    this.#made.clear()
    void before?.opened.then((store) => store.close()).catch(() => {})
    const opened = openStore(this.#place)
    this.#store = { file, opened }
    // What could not be opened is tried again.
    opened.catch(() => (this.#store = undefined))
    return opened
  }
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

async function stateIn(session: Session, organization: string, known: Map<string, Made>): Promise<State> {
  const [found] = await records<{ readAsOfMs?: number; proof?: string; retiredAtMs?: number }>(
    session,
    sql`SELECT read_as_of, proof, retired_at FROM freshness WHERE organization = ${organization}`,
  )
  const { readAsOfMs, proof = 'unproven', retiredAtMs } = found ?? {}
  if (retiredAtMs !== undefined) throw new NotMirrored(`The organization ${organization} was retired.`)
  if (readAsOfMs === undefined) throw new NotMirrored(`The organization ${organization} was not read to its end yet.`)
  const count = (removed: Sql) =>
    sql`(SELECT count(*) FROM customers WHERE organization = ${organization} AND ${removed})`
  // No two changes that readers see share a moment.
  const moment = either('max(updated_at)', 'CAST(max(updated_at) AS text)')
  const last = await session.first<{ stamp: string | null }>(
    sql`SELECT ${moment} || ' ' || (${count(sql`true`)} - ${count(sql`removed_at IS NOT NULL`)}) AS stamp FROM customers`,
  )
  const stamp = last?.stamp ?? ''
  const before = known.get(organization)
  const made = before?.stamp === stamp ? before : { stamp, texts: before?.texts ?? NO_TEXTS }
  known.set(organization, made)
  return { readAsOfMs, proof, made }
}

/** Within a second, times sort by the rest of their text: a service sends all of them in one form. */
const BY_TIME = sql`ORDER BY created_at_utc NULLS FIRST,
  CASE WHEN created_at_utc IS NOT NULL THEN ${either('substr(created_at, 20)', 'substr(created_at, 20) COLLATE "C"')} END,
  ${either('id', 'id COLLATE "C"')}`

/** The order is made once for all requests of a state, as the texts are. */
async function orderOf(session: Session, { organization, search, language }: Asked, made: Made): Promise<Order> {
  const order = await (made.order ??= session.numbers(
    sql`SELECT ${ROW_ID} FROM customers WHERE organization = ${organization} AND removed_at IS NULL ${BY_TIME}`,
  ))
  if (search === '' && language === '') return order
  // Pages of one search are mostly asked for one after the other.
  const filter = `${language}\0${search}`
  if (made.last?.filter === filter) return made.last.found
  made.texts = made.texts.then((before) => textsIn(session, organization, { ...made, order }, before))
  const { list, all, ends } = await made.texts
  const wanted = folded(search)
  // A NUL ends each text, and stands in none.
  let at = wanted.includes('\0') ? -1 : all.indexOf(wanted)
  const found = order.filter((_, place) => {
    const end = ends[place] ?? 0
    if (at === -1 || end <= at) return false
    at = all.indexOf(wanted, end)
    return language === '' || list[place]?.language === language
  })
  made.last = { filter, found }
  return found
}

const NO_TEXTS: Promise<Texts> = Promise.resolve({ stamp: '', order: [], list: [], all: '', ends: [] })

/** The texts of before with those that were changed since, of the customers that are there now. */
async function textsIn(
  session: Session,
  organization: string,
  { stamp, order }: { stamp: string; order: Order },
  before: Texts,
): Promise<Texts> {
  if (before.stamp === stamp) return before
  const since = before.stamp.replace(/ \d+$/, '')
  const isChanged = since === '' ? sql`true` : sql`updated_at >= ${either(sql`${since}`, sql`${since}::timestamptz`)}`
  const rows = await session.all<
    { row_id: number } & Pick<ServedCustomer, 'name' | 'username' | 'email' | 'language'>
  >(sql`
    SELECT ${ROW_ID} AS row_id, name, username, email, language FROM customers WHERE organization = ${organization} AND ${isChanged}`)
  const ofRow = new Map(before.order.map((rowId, place) => [rowId, before.list[place]]))
  for (const { row_id: rowId, name, username, email, language } of rows)
    ofRow.set(rowId, { text: folded([name, username, email, ''].map((value) => value ?? '').join('\0')), language })
  const list = order.map((rowId) => ofRow.get(rowId) ?? { text: '', language: null })
  let end = 0
  const ends = list.map(({ text: { length } }) => (end += length))
  return { stamp, order, list, all: list.map((one) => one.text).join(''), ends }
}

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
