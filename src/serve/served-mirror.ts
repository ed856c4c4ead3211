import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { isPostgres } from '../address/mirror-address.ts'
import { openReadable } from '../copies/organizations.ts'
import { columnsThere, folded } from '../copies/read-rows.ts'
import { TEXT_FIELDS } from '../model/customer.ts'
import type { ListQuery } from '../service/listing.ts'
import { either, joined, sql, type Sql, text } from '../store/port/sql.ts'
import { records, type Session, type Store } from '../store/port/store.ts'

/** The mirror has no customers of the organization to serve: it was not read to its end yet, or was retired, or they are left out. */
export class NotMirrored extends Error {
  override name = 'NotMirrored' as const
}

/** A state of the mirror: the transaction that holds it, and what is read in it now. */
type Snapshot = { session: Session; readings: Set<Promise<unknown>>; over: AbortController }

/**
 * How current an organization is, its rows in the order of the list, and their texts, which may be of an earlier stamp. The version changes once
 * anything is written in the mirror; the stamp, once customers of the organization do: it begins with when any customer was changed last.
 */
type State = {
  version: string | number | undefined
  stamp: string
  readAsOfMs: number
  proof: string
  order?: Promise<number[]>
  texts: Texts
  last?: { filter: string; found: number[] }
}

/** What is searched of the customers, by row in the order; their texts also one after the other, with the place at which each one ends. */
type Texts = Promise<{ stamp: string; rows: Map<number, Searched>; all: string; ends: number[] } | undefined>
type Searched = { text: string; language: string | null }
type Row = Record<'name' | 'username' | 'email' | 'language', string | null> & { row_id: number }

export type ServedMirror = ReturnType<typeof serveMirror>

/**
 * The active customers of a mirror or of a published copy, as pages: by creation time and id, each page from one state. It is opened when it is first
 * asked for, and again once its file was replaced. Requests share one state for `snapshotMs`: `forget` waits a second for readers.
 */
export function serveMirror(place: string, snapshotMs = 500) {
  let store: { opened: Store; file: string } | undefined
  let snapshot: Promise<Snapshot> | undefined
  /** What was asked last of each organization, and of which snapshot. */
  const states = new Map<string, { of: Snapshot; state: Promise<State> }>()

  async function read<Result>(organization: string, work: (session: Session, state: State) => Promise<Result>) {
    const of = await (snapshot ??= begin())
    const { session, readings, over } = of
    const before = states.get(organization)
    const state = before?.of === of ? before.state : stateIn(session, organization, before?.state)
    states.set(organization, { of, state })
    const reading = state.then((found) => work(session, found))
    readings.add(reading)
    try {
      return await reading
    } catch (error) {
      // A server that was lost is asked anew.
      if (!(error instanceof NotMirrored)) {
        over.abort()
        states.clear()
      }
      throw error
    } finally {
      readings.delete(reading)
    }
  }

  /** Begins a transaction that lasts a while, and until all that is read in it then was read. */
  function begin(): Promise<Snapshot> {
    const begun = Promise.withResolvers<Snapshot>()
    const hold = async (session: Session) => {
      const [readings, over] = [new Set<Promise<unknown>>(), new AbortController()]
      begun.resolve({ session, readings, over })
      await sleep(snapshotMs, undefined, { signal: over.signal, ref: false }).catch(() => {})
      snapshot = undefined
      await Promise.allSettled(readings)
    }
    const held = openAnew().then((opened) => opened.read(hold))
    held.catch((error: unknown) => {
      snapshot = undefined
      begun.reject(error)
    })
    return begun.promise
  }

  async function openAnew(): Promise<Store> {
    const found = isPostgres(place) ? undefined : statSync(place, { throwIfNoEntry: false })
    // Another one for another file of this name.
    const file = JSON.stringify([found?.dev, found?.ino])
    const before = store
    if (before?.file === file) return before.opened
    store = undefined
    states.clear()
    void before?.opened.close().catch(() => {})
    const opened = await openStore(place)
    store = { file, opened }
    return opened
  }

  return {
    /** A page, how many customers there are, and how current. Throws NotMirrored, and MirrorUnusable for a mirror that cannot be read now. */
    page: (organization: string, query: ListQuery) =>
      read(organization, async (session, state) => {
        const rowIds = await rowIdsOf(session, organization, query, state)
        const from = (query.page - 1) * query.perPage
        const rows = await rowsIn(session, organization, rowIds.slice(from, from + query.perPage))
        return { rows, total: rowIds.length, readAsOfMs: state.readAsOfMs, proof: state.proof }
      }),
    /** Throws as `page` does. */
    requireMirrored: (organization: string) => read(organization, async () => {}),
    async close(): Promise<void> {
      await snapshot?.then(({ over }) => over.abort()).catch(() => {})
      await store?.opened.close().catch(() => {})
    },
  }
}

async function openStore(place: string): Promise<Store> {
  if ((await columnsThere(place, ['email'])).length > 0) return openReadable(place)
  throw new NotMirrored('The mirror is a copy without personal data, which has nothing to serve. Name another one.')
}

/** The number of a row; a copy has it under the name that every table has. */
const ROW_ID = either('rowid', 'row_id')

/** The same for two reads in a row between which nothing was written. */
const VERSION = either('(SELECT data_version FROM pragma_data_version)', 'CAST(pg_current_snapshot() AS text)')

async function stateIn(session: Session, organization: string, earlier: Promise<State> | undefined): Promise<State> {
  const before = await earlier?.catch(() => undefined)
  const version = (await session.first<{ version: string | number }>(sql`SELECT ${VERSION} AS version`))?.version
  if (before !== undefined && before.version === version) return before
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
  const made = before?.stamp === stamp ? before : { texts: before?.texts ?? Promise.resolve(undefined) }
  return { ...made, version, stamp, readAsOfMs, proof }
}

/** Within a second, times sort by the rest of their text: a service sends all of them in one form. */
const BY_TIME = sql`ORDER BY created_at_utc NULLS FIRST,
  CASE WHEN created_at_utc IS NOT NULL THEN ${either('substr(created_at, 20)', 'substr(created_at, 20) COLLATE "C"')} END,
  ${either('id', 'id COLLATE "C"')}`

/** The customers asked for. The order is made once for all requests of a state, as the texts are. */
async function rowIdsOf(session: Session, organization: string, { search, language }: ListQuery, state: State) {
  const order = await (state.order ??= session.numbers(
    sql`SELECT ${ROW_ID} FROM customers WHERE organization = ${organization} AND removed_at IS NULL ${BY_TIME}`,
  ))
  if (search === '' && language === '') return order
  // Pages of one search are mostly asked for one after the other.
  const filter = `${language}\0${search}`
  if (state.last?.filter === filter) return state.last.found
  const { rows, all, ends } = await (state.texts = textsIn(session, organization, state, order))
  const wanted = folded(search)
  // A NUL ends each text, and stands in none.
  let at = wanted.includes('\0') ? -1 : all.indexOf(wanted)
  const found = order.filter((rowId, place) => {
    const end = ends[place] ?? 0
    if (at === -1 || end <= at) return false
    at = all.indexOf(wanted, end)
    return language === '' || rows.get(rowId)?.language === language
  })
  state.last = { filter, found }
  return found
}

/** The texts of before with those that were changed since, of the customers that are there now. */
async function textsIn(session: Session, organization: string, { stamp, texts }: State, order: readonly number[]) {
  const before = await texts
  if (before?.stamp === stamp) return before
  const since = before?.stamp.replace(/ \d+$/, '')
  const isChanged = since ? sql`updated_at >= ${either(sql`${since}`, sql`${since}::timestamptz`)}` : sql`true`
  const changed = await session.all<Row>(sql`
    SELECT ${ROW_ID} AS row_id, name, username, email, language FROM customers WHERE organization = ${organization} AND ${isChanged}`)
  const known = new Map(before?.rows)
  for (const { row_id: rowId, name, username, email, language } of changed)
    known.set(rowId, { text: folded([name, username, email, ''].map((value) => value ?? '').join('\0')), language })
  const rows = new Map(order.map((rowId) => [rowId, known.get(rowId) ?? { text: '', language: null }]))
  const each = Array.from(rows.values(), (row) => row.text)
  let end = 0
  return { stamp, rows, all: each.join(''), ends: each.map(({ length }) => (end += length)) }
}

async function rowsIn(session: Session, organization: string, rowIds: readonly number[]) {
  const columns = joined(['id', ...TEXT_FIELDS].map((name) => text(`customers.${name}`)))
  const rows = await session.all<{ extra: string | null }>(sql`
    SELECT ${columns}, CAST(extra AS text) AS extra FROM ${either(
      sql`json_each(${JSON.stringify(rowIds)}) AS wanted CROSS JOIN customers ON customers.rowid = wanted.value ORDER BY wanted.key`,
      sql`unnest(${rowIds}::bigint[]) WITH ORDINALITY AS wanted (row_id, place)
        JOIN customers ON organization = ${organization} AND customers.row_id = wanted.row_id ORDER BY place`,
    )}`)
  return rows.map(({ extra, ...documented }) => (extra === null ? documented : { ...JSON.parse(extra), ...documented }))
}
