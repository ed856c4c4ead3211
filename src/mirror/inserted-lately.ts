import type { Customer } from '../customer.ts'
import { isUnchanged } from './changed-fields.ts'

/** Of the pages a load has saved last, so many: those its windows overlap are among them. */
const PAGES = 24

/**
 * The customers a load has inserted last, by their positions in the list. Neighbouring windows share some: nearly all of
 * those who come twice stand where they stood, and need not be looked up to be known.
 */
export class InsertedLately {
  readonly #pages: Page[] = []

  /** Tells the row of a customer who was inserted just so, in the same position; for a page from `start` on. */
  finder(start: number, count: number): (place: number, customer: Customer) => number | undefined {
    const near = this.#pages.filter((page) => page.start < start + count && start < page.start + page.customers.length)
    return (place, customer) => {
      for (const page of near) {
        const before = page.customers[start + place - page.start]
        if (before?.id !== customer.id) continue
        const rowId = page.rowIds[start + place - page.start]
        if (rowId !== undefined && isUnchanged(before, customer)) return rowId
      }
      return undefined
    }
  }

  /** `rowIds` are undefined for customers who were not inserted. */
  add(page: Page): void {
    this.#pages.push(page)
    if (this.#pages.length > PAGES) this.#pages.shift()
  }
}

type Page = {
  /** Position of the first. */
  readonly start: number
  readonly customers: readonly Customer[]
  readonly rowIds: readonly (number | undefined)[]
}
