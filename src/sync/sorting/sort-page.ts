import type { Row } from '../../model/customer.ts'
import { rowOf } from '../../model/record.ts'
import type { Fingerprint } from '../../model/fingerprint.ts'
import { UNKNOWN } from '../../model/list-as-read.ts'
import type { SortedPage } from '../../model/page.ts'
import type { Forgotten } from '../../privacy/forgotten.ts'
import type { HiddenValues } from '../../privacy/hidden-values.ts'
import { compareEach, orderOf, orderOfRows, type RowOrder } from '../../scan/row-order.ts'
import type { Window } from '../../scan/window.ts'
import type { CustomersPage, CutRecords } from '../../source/customers.ts'
import type { KnownList, Marks } from '../list-as-read.ts'
import { sortRecords, type SortOptions } from './sort-records.ts'

/** A page that was read and sorted, ready to be saved. Its bytes are dropped to save memory. */
export type ReadPage = SortedPage & Pick<CustomersPage, 'size' | 'total' | 'beyondEnd' | 'refusal' | 'release'> & Look

/** What is seen of the records of a page beside what is saved. */
type Look = {
  /** What identifies its records next time; undefined if all must be read again. */
  readonly marks?: Marks
  /** The place of its first customer in the list as last read, if all of them are known and stand together there. */
  readonly listedAt?: number
  /** Its first and its last row; undefined in a page without rows. */
  readonly ends: readonly [Row, Row] | undefined
  /** How each row compares with the next; undefined if one of them has no readable id. */
  readonly order: RowOrder | undefined
}

/** The list as last read, the fingerprint for records, what is hidden of them, and the customers to suppress. */
export type Recognition = {
  readonly known: KnownList
  readonly fingerprint: Fingerprint
  readonly hidden?: HiddenValues | undefined
  readonly forgotten?: Forgotten | undefined
}

/** Sorts a page. A record known by its bytes is not parsed, unless its neighbours are new. Throws ContractBroken where records cannot be parsed. */
export function sortPage(page: CustomersPage, window: Window | undefined, recognition: Recognition): ReadPage {
  const { size, total, beyondEnd, refusal, release } = page
  return {
    ...(recognize(page, recognition) ?? parse(page, recognition)),
    ...{ page: page.page, size, total, beyondEnd, refusal, release },
    window: window && { ...window, perPage: size, total, beyondEnd },
  }
}

type Records = Omit<SortedPage, 'page' | 'window'> & Look

function parse(page: CustomersPage, { hidden, forgotten }: Recognition): Records {
  const sorted = sortRecords(page.records(), { pageBytes: page.bytes, hidden, forgotten })
  const { rows, rejects } = sorted
  const order = rejects.length > 0 ? undefined : orderOfRows(rows.map((row) => row ?? NO_ROW))
  return { ...sorted, order, ends: endsOf(rows.length, (at) => rows[at] ?? NO_ROW) }
}

const NO_ROW: Row = { id: undefined, createdAt: undefined }

function endsOf(size: number, rowAt: (at: number) => Row): Look['ends'] {
  return size === 0 ? undefined : [rowAt(0), rowAt(size - 1)]
}

/** Undefined where the page cannot be cut into records, or the cut was wrong. */
function recognize(
  { page, size, bytes: pageBytes, cut: cutApart }: CustomersPage,
  { known, fingerprint, hidden, forgotten }: Recognition,
): Records | undefined {
  const cut = cutApart?.()
  if (cut === undefined) return undefined
  const prints = fingerprintsOf(cut, fingerprint)
  const places = placesOf(prints, known, size * (page - 1))
  const [first = NOWHERE] = places
  if (first >= 0 && places.every((place, at) => place === first + at)) return asListed(cut, first, known)
  const options = { pageBytes, hidden, forgotten }
  let sorted = sortCut(cut, { known, places }, options)
  // The first record of an id counts, and a known record beside a new one does not show which was first.
  if (sorted !== undefined && isAnyTwice(cut, sorted, prints))
    sorted = sortCut(cut, { known, places: places.fill(NOWHERE) }, options)
  return sorted && withMarks(cut, sorted, { known, places, prints })
}

/** A page as it stands in the list as last read, from a place on: the most usual one at rest. */
function asListed(cut: CutRecords, from: number, known: KnownList): Records {
  const to = from + cut.starts.length
  const rowIds = known.list.columns.rowIds.subarray(from, to)
  const rowAt = (at: number) => rowOf(cut.record(at))
  const comparisons = known.list.columns.comparisons.slice(from, to)
  compareEach(comparisons, rowAt)
  return {
    ...{ ...NOTHING_NEW, rowIds, warnings: known.warningsOf(from, to) },
    ...{ listedAt: from, ends: endsOf(rowIds.length, rowAt), order: orderOf(comparisons) },
  }
}

const NOTHING_NEW = { customers: [], places: [], rejects: [], suppressed: [], rows: [] }

/** The place of a record that is not known. */
const NOWHERE = -1

type Prints = Pick<Marks, 'fingerprints' | 'idFingerprints'>

function fingerprintsOf({ bytes, starts, ends, ids }: CutRecords, fingerprint: Fingerprint): Prints {
  const fingerprints = new Float64Array(starts.length)
  const idFingerprints = new Uint32Array(starts.length)
  for (let at = 0; at < starts.length; at += 1) {
    const id = ids[at] ?? NOWHERE
    if (id < 0) continue
    fingerprints[at] = fingerprint.record(bytes, starts[at] ?? 0, ends[at] ?? 0)
    idFingerprints[at] = fingerprint.id(bytes, id)
  }
  return { fingerprints, idFingerprints }
}

/** The place of each record in the list as last read; NOWHERE if it is not known. At rest, the first one stands where its page says. */
function placesOf({ fingerprints, idFingerprints }: Prints, known: KnownList, start: number): Int32Array {
  const places = new Int32Array(fingerprints.length)
  let likely = start
  for (let at = 0; at < places.length; at += 1) {
    const place = known.placeOf(fingerprints[at] ?? UNKNOWN, idFingerprints[at] ?? 0, likely)
    likely = (place < 0 ? likely : place) + 1
    places[at] = place
  }
  return places
}

type Sorted = ReturnType<typeof sortRecords>

/** The places of the records of a page in the list as last read. */
type Places = { known: KnownList; places: Int32Array }

function sortCut(cut: CutRecords, { known, places }: Places, options: SortOptions): Sorted | undefined {
  const rowIds = pick(new Uint32Array(places.length), known.list.columns.rowIds, places)
  const records = cut.records((at) => rowIds[at] !== 0)
  const warningsAt = (at: number) => known.warningsAt(places[at] ?? NOWHERE)
  return records && sortRecords(records, { ...options, known: { rowIds, warningsAt } })
}

/** The entries of a column at these places; 0 where there is none. */
function pick<Column extends Uint8Array | Uint32Array>(into: Column, column: Column, places: Int32Array): Column {
  // A loop: creating a column from another one with a function takes ten times as long.
  for (let at = 0; at < places.length; at += 1) into[at] = column[places[at] ?? NOWHERE] ?? 0
  return into
}

/** Whether a parsed customer may be one of the known ones. */
function isAnyTwice(cut: CutRecords, sorted: Sorted, { idFingerprints }: Prints): boolean {
  const { customers, places, rowIds } = sorted
  if (customers.length === 0 || rowIds.every((rowId) => rowId === 0)) return false
  const parsed = new Set(places.map((at) => idFingerprints[at]))
  if (customers.some(({ id }, index) => !cut.hasId(places[index] ?? 0, id))) return true
  // Mostly few are parsed and many are known: a set of the few is the smaller one.
  return rowIds.some((rowId, at) => rowId !== 0 && parsed.has(idFingerprints[at]))
}

function withMarks(cut: CutRecords, sorted: Sorted, { known, places, prints }: Places & { prints: Prints }): Records {
  const { customers, rejects, rows } = sorted
  // A reject is not what is stored of its customer, and an id that was not found in the bytes could not be compared.
  for (const { position } of rejects) prints.fingerprints[position] = UNKNOWN
  customers.forEach(({ id }, index) => {
    const at = sorted.places[index] ?? 0
    if (!cut.hasId(at, id)) prints.fingerprints[at] = UNKNOWN
  })
  const oddities = pick(new Uint8Array(places.length), known.list.columns.oddities, places)
  for (const [at, warnings] of sorted.oddities) {
    const oddity = known.oddityOf(warnings)
    oddities[at] = oddity ?? 0
    if (oddity === undefined) prints.fingerprints[at] = UNKNOWN
  }
  const rowAt = (at: number) => (rows[at] ??= rowOf(cut.record(at)))
  const comparisons = new Uint8Array(rows.length)
  if (rejects.length > 0) rows.forEach((_, at) => rowAt(at))
  else compareAll(comparisons, rowAt, { known, places })
  return {
    ...{ ...sorted, marks: { ...prints, comparisons, oddities } },
    ...{ ends: endsOf(rows.length, rowAt), order: rejects.length > 0 ? undefined : orderOf(comparisons) },
  }
}

/** Compares neighbours; two that were neighbours in the list as last read compare as before. */
function compareAll(comparisons: Uint8Array, rowAt: (at: number) => Row, { known, places }: Places): void {
  const last = places.length - 1
  for (let at = 0; at <= last; at += 1) {
    const place = places[at] ?? NOWHERE
    const isAsBefore = place >= 0 && (at === last || places[at + 1] === place + 1)
    if (isAsBefore) comparisons[at] = known.list.columns.comparisons[place] ?? 0
  }
  compareEach(comparisons, rowAt)
}
