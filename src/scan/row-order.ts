import { isDate, isPlainUtc } from '../time/moments.ts'

/** What is compared of a row. */
type Row = { readonly id: string | undefined; readonly createdAt: string | undefined }

/** How one time, or id, compares with another. */
type Order = -1 | 0 | 1
const ORDERS: readonly Order[] = [-1, 0, 1]

/** How one row compares with another by its creation time, and by its id. */
export type Comparison = {
  readonly times: Order
  readonly ids: Order
}

/** How the rows of a window compare, each with the next, in a few numbers. */
export type RowOrder = {
  /** The ways in which they compare, as flags: a page has many neighbours and few ways. */
  readonly met: number
  /** Neighbours of the same creation time, and of different ones. */
  readonly ties: number
  readonly steps: number
  /** How many rows at the end have one creation time. */
  readonly tieAtEnd: number
  /** Whether any has no readable creation time. */
  readonly undated: boolean
}

/** The order of rows that have a readable id, in the order served. */
export function orderOfRows(rows: readonly Row[]): RowOrder {
  const comparisons = new Uint8Array(rows.length)
  compareEach(comparisons, (place) => rows[place])
  return orderOf(comparisons)
}

/** A comparison is a number from 1 to 9 for the way in which two rows compare, 0 where there is no other, and a flag. */
const [DATED, UNDATED] = [16, 32]

/**
 * Compares each row with the next one, and notes whether it has a readable creation time, in a byte a row that is never 0. Bytes
 * that are given are kept, and their rows are not asked for.
 */
export function compareEach(comparisons: Uint8Array, rowAt: (place: number) => Row | undefined): void {
  let comparedAt = -1
  let instantThere: string | undefined
  for (let place = 0; place < comparisons.length; place += 1) {
    if (comparisons[place] !== 0) continue
    const row = rowAt(place)
    const instant = comparedAt === place ? instantThere : sortableInstant(row?.createdAt)
    const dated = instant === undefined ? UNDATED : DATED
    comparisons[place] = dated
    if (place === comparisons.length - 1) return
    const next = rowAt(place + 1)
    comparedAt = place + 1
    instantThere = sortableInstant(next?.createdAt)
    const times = compareText(instant, instantThere)
    comparisons[place] = dated + 1 + wayOf({ times, ids: compareText(row?.id, next?.id) })
  }
}

/** The order of the rows that were compared so; what the last compares with does not count. */
export function orderOf(comparisons: Uint8Array): RowOrder {
  let [met, ties, tieAtEnd] = [0, 0, comparisons.length > 0 ? 1 : 0]
  let undated = false
  const last = comparisons.length - 1
  for (let place = 0; place <= last; place += 1) {
    const comparison = Number(comparisons[place])
    undated ||= comparison >= UNDATED
    if (place === last) break
    const way = (comparison % DATED) - 1
    const isTie = way >= TIE_FROM && way < TIE_FROM + ORDERS.length
    met |= 1 << way
    tieAtEnd = isTie ? tieAtEnd + 1 : 1
    if (isTie) ties += 1
  }
  return { met, ties, steps: Math.max(0, last - ties), tieAtEnd, undated }
}

/** The ways in which neighbours compare, by their flags. */
export function* waysMet(met: RowOrder['met']): Generator<Comparison> {
  for (const way of WAYS) if ((met & (1 << wayOf(way))) !== 0) yield way
}

export function compareRows(one: Row, other: Row): Comparison {
  const times = compareText(sortableInstant(one.createdAt), sortableInstant(other.createdAt))
  return { times, ids: compareText(one.id, other.id) }
}

function compareText(one = '', other = ''): Order {
  return one === other ? 0 : one < other ? -1 : 1
}

/** From 0 to 8. */
function wayOf({ times, ids }: Comparison): number {
  return 3 * times + ids + 4
}

const WAYS: readonly Comparison[] = ORDERS.flatMap((times) => ORDERS.map((ids) => ({ times, ids })))

/** The lowest way in which rows of one creation time compare. */
const TIE_FROM = 3

const ISO_8601 = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:[.,](\d{1,9})\d*)?\s*(Z|z|[+-]\d{2}:?\d{2})?$/

/**
 * The instant of a `created_at` as text that sorts by time, the same for the same instant whatever form it was sent in;
 * undefined when unreadable. Without a zone it is UTC. Digits beyond nanoseconds are dropped: a coarser instant still
 * never sorts against time. A fraction follows the Z, so that the most usual form is its own sortable text.
 */
export function sortableInstant(createdAt: string | undefined): string | undefined {
  if (createdAt === undefined) return undefined
  if (isPlainUtc(createdAt)) return createdAt.length === 20 ? createdAt : `${createdAt.slice(0, 19)}Z`
  const [, date, time, fraction = '', zone = 'Z'] = ISO_8601.exec(createdAt) ?? []
  if (date === undefined || time === undefined) return undefined
  if (!isDate(Number(date.slice(0, 4)), Number(date.slice(5, 7)), Number(date.slice(8)))) return undefined
  if (time > '23:59:59' || time.slice(3, 5) > '59' || time.slice(6) > '59') return undefined
  const utc = zone === 'Z' ? `${date}T${time}` : shifted(`${date}T${time}`, -zoneMs(zone))
  return utc === undefined ? undefined : `${utc}Z${fraction.replace(/0+$/, '')}`
}

function shifted(written: string, byMs: number): string | undefined {
  const utc = new Date(Date.parse(`${written}Z`) + byMs).toISOString()
  return utc.length === 24 ? utc.slice(0, 19) : undefined
}

function zoneMs(zone: string): number {
  if (zone.toUpperCase() === 'Z') return 0
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(-2))]
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000
}
