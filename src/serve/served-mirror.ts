import { statSync } from 'node:fs'
import { isPostgres } from '../address/mirror-address.ts'
import { folded, mayMention, SEARCHED } from '../copies/read-rows.ts'
import { TEXT_FIELDS, type TextField } from '../model/customer.ts'
import { either, joined, sql, type Sql, text } from '../store/port/sql.ts'
import { sqliteStore } from '../store/port/sqlite-store.ts'
import { countOf, records, type Session, type Store } from '../store/port/store.ts'
import { openToRead } from '../store/sqlite/open-to-read.ts'

/** A customer as it is served: the documented fields as the service sent them, and those that the specification does not know. */
export type ServedCustomer = { id: string } & Record<TextField, string | null> & Record<string, unknown>

/** What a page is made of: its customers and how many there are in all, from one state, and how current that is. */
export type ServedPage = { rows: ServedCustomer[]; total: number; readAsOfMs: number; proof: string }

export type Asked = { organization: string; page: number; perPage: number; search: string; language: string }

/** The organization is not in the mirror, or was not read to its end yet. */
export class NotMirrored extends Error {
  override name = 'NotMirrored' as const
}

/** How long requests share one state of the mirror: a longer one would hold up its WAL. */
const SNAPSHOT_MS = 1000

/** Orders that are kept, the latest: one for each organization, and one for each filter that is asked for. */
const MOST_ORDERS = 200

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

/** How current an organization is, and a text that is another one once its customers are others, or stand elsewhere. */
type State = { readAsOfMs: number; proof: string; stamp: string }

/** Customers in the order of the list, by the numbers of their rows, and the state they are of. */
type Order = { stamp: string; rowIds: readonly number[] }

/**
 * The active customers of a mirror in a file or a database, or of a published copy, as pages: by creation time and id, each page from one
 * state. It is opened when it is first asked for, and again once its file was replaced.
 */
export class ServedMirror {
  readonly #place: string
  readonly #monotonicMs: () => number
  #store: { opened: Promise<Store>; file: string } | undefined
  #snapshot: Promise<Snapshot> | undefined
  readonly #orders = new Map<string, Order>()

  constructor(place: string, monotonicMs: () => number) {
    this.#place = place
    this.#monotonicMs = monotonicMs
  }

  /** Throws NotMirrored, and MirrorUnusable for a mirror that cannot be read now. */
  async page({ organization, page, perPage, search, language }: Asked): Promise<ServedPage> {
    return this.#inSnapshot(async (snapshot) => {
      const { session } = snapshot
      const { stamp, ...current } = await this.#stateOf(organization, snapshot)
      const key = JSON.stringify([organization, language, search])
      const kept = this.#orders.get(key)
      const order =
        kept?.stamp === stamp ? kept : { stamp, rowIds: await orderIn(session, { organization, search, language }) }
      // The one that was asked for last comes last.
      this.#orders.delete(key)
      this.#orders.set(key, order)
      for (const oldest of this.#orders.keys()) if (this.#orders.size > MOST_ORDERS) this.#orders.delete(oldest)
      const from = (page - 1) * perPage
      const rows = await rowsIn(session, organization, order.rowIds.slice(from, from + perPage))
      return { rows, total: order.rowIds.length, ...current }
    })
  }

  /** How current an organization is. Throws as `page` does. */
  async state(organization: string): Promise<Omit<State, 'stamp'>> {
    return this.#inSnapshot((snapshot) => this.#stateOf(organization, snapshot))
  }

  async close(): Promise<void> {
    const [snapshot, store] = [this.#snapshot, this.#store]
    this.#snapshot = this.#store = undefined
    await snapshot?.then((last) => last.end()).catch(() => {})
    await store?.opened.then((opened) => opened.close()).catch(() => {})
  }

  #stateOf(organization: string, { session, states }: Snapshot): Promise<State> {
    const state = states.get(organization) ?? stateIn(session, organization)
    states.set(organization, state)
    return state
  }

  async #inSnapshot<Result>(work: (snapshot: Snapshot) => Promise<Result>): Promise<Result> {
    const current = this.#snapshot
    const isOver = ((await current?.catch(() => undefined))?.endsAtMs ?? 0) <= this.#monotonicMs()
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
  return sqliteStore(db, place)
}

/** The number of a row; a copy has it under the name that every table has. */
const ROW_ID = either('rowid', 'row_id')

async function stateIn(session: Session, organization: string): Promise<State> {
  const [found] = await records<{ readAsOfMs?: number; proof?: string }>(
    session,
    sql`SELECT read_as_of, proof FROM freshness WHERE organization = ${organization}`,
  )
  const { readAsOfMs, proof = 'unproven' } = found ?? {}
  if (readAsOfMs === undefined) throw new NotMirrored(`The organization ${organization} was not read to its end yet.`)
  const count = (removed: Sql) =>
    sql`(SELECT count(*) FROM customers WHERE organization = ${organization} AND ${removed})`
  const active = await countOf(session, sql`SELECT ${count(sql`true`)} - ${count(sql`removed_at IS NOT NULL`)}`)
  const last = await countOf(session, sql`SELECT coalesce(max(seq), 0) FROM changes`)
  return { readAsOfMs, proof, stamp: `${active}/${last}` }
}

/** Within a second, times sort by the rest of their text: a service sends all of them in one form. */
const BY_TIME = sql`ORDER BY created_at_utc NULLS FIRST,
  CASE WHEN created_at_utc IS NOT NULL THEN ${either('substr(created_at, 20)', 'substr(created_at, 20) COLLATE "C"')} END,
  ${either('id', 'id COLLATE "C"')}`

type Filter = Pick<Asked, 'organization' | 'search' | 'language'>

async function orderIn(session: Session, { organization, search, language }: Filter): Promise<readonly number[]> {
  const ofLanguage = language === '' ? sql`true` : sql`language = ${language}`
  const active = sql`organization = ${organization} AND removed_at IS NULL AND ${ofLanguage}`
  if (search === '') return session.numbers(sql`SELECT ${ROW_ID} FROM customers WHERE ${active} ${BY_TIME}`)
  const wanted = folded(search)
  const names = text(SEARCHED.join(', '))
  const found = await session.all<Record<string, string | number | null>>(sql`
    SELECT ${ROW_ID} AS row_id, ${names} FROM customers WHERE ${active} AND ${mayMention(SEARCHED, wanted)} ${BY_TIME}`)
  return found
    .filter((row) => SEARCHED.some((name) => folded(String(row[name] ?? '')).includes(wanted)))
    .map((row) => Number(row['row_id']))
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
