import type { RememberedRow } from '../remembered-page.ts'
import type { Connection } from './database.ts'
import { rowsFrom, type PageColumns } from './remembered-columns.ts'
import { statement } from './statement.ts'

/** So many come with one query: each of them then costs a fifth of what it costs to ask for it alone. */
const AT_ONCE = 64

/** With more strangers on a page than that, its customers have most likely moved: only then is it worth looking around. */
const FEW_STRANGERS = 8

/**
 * The remembered pages around where a run reads, which asks for them in the order of their positions. Each is let go of when
 * it was asked for, until customers turn out to have moved: then at least 64 before and behind are kept at hand.
 */
export class PagesNear {
  readonly #db: Connection
  readonly #organization: string
  readonly #program: string
  readonly #pages = new Map<string, PageColumns>()
  /** Their rows by fingerprint, and by page, once somebody is looked for who has moved. */
  #rows: Map<number, RememberedRow> | undefined
  readonly #rowsOf = new Map<PageColumns, RememberedRow[]>()
  /** What was asked for last. */
  #at = { start: 0, size: 0 }
  /** What starts before this was read, or passed over. */
  #until = 0

  constructor(db: Connection, organization: string, program: string) {
    this.#db = db
    this.#organization = organization
    this.#program = program
  }

  /** A page as it was remembered when the run came near it; undefined when it was not. */
  take(start: number, size: number): PageColumns | undefined {
    this.#at = { start, size }
    this.#readAround()
    const key = pageKey(start, size)
    const page = this.#pages.get(key)
    if (this.#rows === undefined) this.#pages.delete(key)
    return page ?? this.find(start, size)
  }

  /** A page as it is remembered now. */
  find(start: number, size: number): PageColumns | undefined {
    const sql = 'SELECT * FROM remembered_pages WHERE organization = ? AND start = ? AND size = ? AND program = ?'
    const find = statement<[string, number, number, string], PageColumns>(this.#db, sql)
    return find.get(this.#organization, start, size, this.#program)
  }

  /** Finds customers of one page by their records, wherever around they came so before. */
  finder(): (fingerprint: number) => RememberedRow | undefined {
    let strangers = 0
    return (fingerprint) => {
      strangers += 1
      if (this.#rows === undefined && strangers <= FEW_STRANGERS) return undefined
      return (this.#rows ?? this.#keepRows()).get(fingerprint)
    }
  }

  /** The ids of customers, by their rows, as they are stored now: one query, which costs a third of asking for each alone. */
  idsOf(rowIds: readonly number[]): ReadonlyMap<number, string> {
    if (rowIds.length === 0) return new Map()
    const sql = 'SELECT row_id, id FROM customers WHERE row_id IN (SELECT value FROM json_each(?))'
    return new Map(statement<[string], [number, string]>(this.#db, sql).raw().all(JSON.stringify(rowIds)))
  }

  #keepRows(): Map<number, RememberedRow> {
    const rows = new Map<number, RememberedRow>()
    this.#rows = rows
    this.#pages.clear()
    this.#until = 0
    this.#readAround()
    return rows
  }

  #readAround(): void {
    const { start, size } = this.#at
    const reach = AT_ONCE * size
    this.#until = Math.max(this.#until, start - reach)
    while (this.#until <= start + (this.#rows === undefined ? 0 : reach)) this.#readOn()
  }

  #readOn(): void {
    const sql =
      'SELECT * FROM remembered_pages WHERE organization = ? AND start >= ? AND program = ? ORDER BY start LIMIT ?'
    const read = statement<[string, number, string, number], PageColumns>(this.#db, sql)
    const pages = read.all(this.#organization, this.#until, this.#program, AT_ONCE)
    this.#until = pages.length < AT_ONCE ? Infinity : (pages.at(-1)?.start ?? Infinity) + 1
    for (const page of pages) {
      this.#pages.set(pageKey(page.start, page.size), page)
      if (this.#rows !== undefined) this.#addRows(page, this.#rows)
    }
    for (const [key, page] of this.#pages) {
      if (this.#pages.size <= 3 * AT_ONCE) break
      this.#pages.delete(key)
      this.#removeRows(page)
    }
  }

  #addRows(page: PageColumns, byFingerprint: Map<number, RememberedRow>): void {
    const rows = rowsFrom(page)
    this.#rowsOf.set(page, rows)
    for (const row of rows) byFingerprint.set(row.fingerprint, row)
  }

  /** Those that another page around has too stay. */
  #removeRows(page: PageColumns): void {
    for (const row of this.#rowsOf.get(page) ?? []) {
      if (this.#rows?.get(row.fingerprint) === row) this.#rows.delete(row.fingerprint)
    }
    this.#rowsOf.delete(page)
  }
}

/** The same text for the same page. */
export function pageKey(start: number, size: number): string {
  return `${start}/${size}`
}
