import type { Connection } from './database.ts'
import { statement } from './statement.ts'

/** A remembered page as it is stored. */
export type PageColumns = {
  start: number
  size: number
  program: string
  digest: string
  row_ids: Buffer
  fingerprints: Buffer
  outline: string
}

/** So many come with one query: each of them then costs a fifth of what it costs to ask for it alone. */
const AT_ONCE = 64

/** The remembered pages of an organization, read ahead of the run that asks for them in the order of their positions. */
export class PagesAhead {
  readonly #db: Connection
  readonly #organization: string
  readonly #pages = new Map<string, PageColumns>()
  /** What starts up to here was read ahead, or passed over. */
  #until = -1

  constructor(db: Connection, organization: string) {
    this.#db = db
    this.#organization = organization
  }

  /** A page as it was remembered when the run came near it; undefined when it was not. */
  take(start: number, size: number): PageColumns | undefined {
    const key = pageKey(start, size)
    if (start > this.#until) this.#readAhead(start, size)
    const page = this.#pages.get(key)
    if (page === undefined) return this.find(start, size)
    this.#pages.delete(key)
    return page
  }

  /** A page as it is remembered now. */
  find(start: number, size: number): PageColumns | undefined {
    const sql = `SELECT * FROM remembered_pages WHERE organization = ? AND start = ? AND size = ?`
    return statement<[string, number, number], PageColumns>(this.#db, sql).get(this.#organization, start, size)
  }

  #readAhead(start: number, size: number): void {
    // Answers overtake one another, but not by much.
    const from = Math.max(this.#until + 1, start - AT_ONCE * size)
    const sql = `SELECT * FROM remembered_pages WHERE organization = ? AND start >= ? ORDER BY start LIMIT ?`
    const pages = statement<[string, number, number], PageColumns>(this.#db, sql).all(this.#organization, from, AT_ONCE)
    this.#until = pages.length < AT_ONCE ? Infinity : (pages.at(-1)?.start ?? Infinity)
    for (const page of pages) this.#pages.set(pageKey(page.start, page.size), page)
    // Those that were passed over are not asked for any more.
    for (const key of this.#pages.keys()) {
      if (this.#pages.size <= 2 * AT_ONCE) break
      this.#pages.delete(key)
    }
  }
}

/** The same text for the same page. */
export function pageKey(start: number, size: number): string {
  return `${start}/${size}`
}
