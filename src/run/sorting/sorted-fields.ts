import { TEXT_FIELDS } from '../../customer.ts'
import type { OrderFacts } from '../../list/order-facts.ts'
import type { CustomersPage } from '../../source/customers.ts'
import { FieldOrder } from './field-order.ts'

/** Pages that are looked at, spread over the list; the last one comes in addition. */
const PAGES = 16
/** A larger page takes too long to parse for this. */
const MOST_BYTES = 1024 * 1024
const MOST_FIELDS = 100
/** A service may sort by the name of a customer's company, or deeper. */
const MOST_LEVELS = 3
/** Their values never change, so they may order the list. */
const UNCHANGING = new Set(['id', 'created_at'])

/**
 * Finds out which fields a list may be sorted by, from some of its pages: a customer whose value changes would move there. A page
 * was cut from one list, so its records are compared with each other; of different pages only the first records are.
 */
export class SortedFields {
  readonly #fields = new Map<string, FieldOrder>()
  readonly #parts = new Set<number>()
  #expected = 1

  /** Looks at the page, if none was looked at in this part of the list. */
  observe(page: Pick<CustomersPage, 'page' | 'size' | 'total' | 'bytes' | 'records'>): void {
    const { size, total = 0, bytes } = page
    const start = size * (page.page - 1)
    const parts = Math.min(PAGES, Math.ceil(total / size))
    const part = start + size >= total ? parts : Math.floor((start * parts) / total)
    if (total === 0 || bytes > MOST_BYTES || this.#parts.has(part) || this.#areTooMany) return
    this.#parts.add(part)
    this.#expected = parts
    this.#look(recordsOf(page), start)
  }

  /** Nothing while too little of the list was looked at, e.g. in a run that continues an interrupted one. */
  get facts(): Pick<OrderFacts, 'fields'> {
    const isWhole = this.#parts.has(0) && this.#parts.has(this.#expected) && 2 * this.#parts.size > this.#expected
    if ((!isWhole && this.#expected > 1) || this.#areTooMany) return {}
    const [all, left] = [new Set<string>(), new Set<string>()]
    for (const [field, order] of this.#fields) {
      const name = publicName(field)
      all.add(name)
      if (order.mayBeSorted) left.add(name)
    }
    return { fields: { ruledOut: [...all].filter((name) => !left.has(name)), left: [...left] } }
  }

  get #areTooMany(): boolean {
    return this.#fields.size > MOST_FIELDS
  }

  #look(records: readonly FieldsOfRecord[], start: number): void {
    for (const record of records) {
      for (const field of record.keys()) {
        if (!UNCHANGING.has(field) && !this.#fields.has(field)) this.#fields.set(field, new FieldOrder())
      }
    }
    if (this.#areTooMany) return
    for (const [field, order] of this.#fields) {
      order.observe(
        records.map((record) => record.get(field)),
        start,
      )
    }
  }
}

/** The facts are stored. A field that the specification does not know may have a name that must not be stored. */
function publicName(field: string): string {
  return TEXT_FIELDS.some((name) => name === field) ? field : 'extra'
}

type FieldsOfRecord = ReadonlyMap<string, unknown>

/** The records of a page; none if one of them cannot be parsed, which the run itself need not do. */
function recordsOf({ records }: Pick<CustomersPage, 'records'>): FieldsOfRecord[] {
  try {
    return records().flatMap((record) => (isObject(record) ? [fieldsOf(record)] : []))
  } catch {
    return []
  }
}

/** The fields of an object, and those of the objects in it. */
function fieldsOf(sent: object): FieldsOfRecord {
  const fields = new Map<string, unknown>()
  addFields(fields, sent, { levels: MOST_LEVELS, prefix: '' })
  return fields
}

function addFields(fields: Map<string, unknown>, sent: object, at: { levels: number; prefix: string }): void {
  for (const name of Object.keys(sent)) {
    const value: unknown = Reflect.get(sent, name)
    if (at.levels === 1 || !isObject(value) || Array.isArray(value)) fields.set(at.prefix + name, value)
    else addFields(fields, value, { levels: at.levels - 1, prefix: `${at.prefix}${name}.` })
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** A field that was left is looked at again after so many nights in which no customer moved: newer customers may rule it out. */
const NIGHTS_UNTIL_AGAIN = 8

/** What is not known of the fields is found out, and again now and then where a field was left. */
export function fieldsToFind({ fields, still = 0 }: OrderFacts): SortedFields | undefined {
  const isLeft = fields !== undefined && fields.left.length > 0
  const isTimeAgain = isLeft && still % NIGHTS_UNTIL_AGAIN === 1
  return fields === undefined || isTimeAgain ? new SortedFields() : undefined
}
