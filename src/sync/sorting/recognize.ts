import { rowOf, type Row } from '../../model/customer.ts'
import type { Fingerprint } from '../../model/fingerprint.ts'
import type { Forgotten } from '../../privacy/forgotten.ts'
import { UNKNOWN } from '../../model/list-as-read.ts'
import type { ListMemory } from '../list-memory.ts'
import type { Marks } from '../list-recorder.ts'
import type { RunPrivacy } from '../../model/run.ts'
import { compareEach } from '../../scan/row-order.ts'
import type { CutRecords } from '../../source/customers.ts'
import { sortRecords, type Sorting, type SortOptions } from './sort-records.ts'

/** The memory of earlier records, the fingerprint for new ones, and the customers to suppress. */
export type Recognition = {
  readonly memory: ListMemory
  readonly fingerprint: Fingerprint
  /** What is hidden of the records, and under which key pages are known by their digest. */
  readonly privacy?: Pick<RunPrivacy, 'hidden' | 'policy'> | undefined
  readonly forgotten?: Forgotten | undefined
}

/** The records of a page that were sorted, what it takes to know them again, and any of them as a row. */
export type Recognized = { sorted: Sorting; marks: Marks; rowAt: (place: number) => Row }

/**
 * Sorts the records of a page that was cut into records. A record known by its bytes is not parsed, unless its neighbours are new.
 * Undefined if the cut was wrong.
 */
export function recognizeRecords(
  cut: CutRecords,
  pageBytes: number,
  { memory, fingerprint, privacy, forgotten }: Recognition,
): Recognized | undefined {
  const prints = fingerprintsOf(cut, fingerprint)
  const places = placesOf(prints, memory)
  const options = { hidden: privacy?.hidden, forgotten }
  const sorted = sortCut(cut, pageBytes, { memory, places, ...options })
  if (sorted === undefined || sorted.known.length === 0 || !isAnyTwice(cut, sorted, prints)) {
    return sorted && withMarks(cut, sorted, { memory, places, prints })
  }
  // The first record of an id counts, and a known record beside a new one does not show which was first.
  const anew = sortCut(cut, pageBytes, { memory, places: places.fill(NOWHERE), ...options })
  return anew && withMarks(cut, anew, { memory, places, prints })
}

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

/** The place of each record in the list as last read; NOWHERE if it is not known. */
function placesOf({ fingerprints, idFingerprints }: Prints, memory: ListMemory): Int32Array {
  const places = new Int32Array(fingerprints.length)
  let likely = NOWHERE
  for (let at = 0; at < places.length; at += 1) {
    const place = memory.placeOf(fingerprints[at] ?? UNKNOWN, idFingerprints[at] ?? 0, likely)
    likely = (place < 0 ? likely : place) + 1
    places[at] = place
  }
  return places
}

type Places = { memory: ListMemory; places: Int32Array }

/** What it takes to sort a page that was cut into records. */
type CutOptions = Places & Pick<SortOptions, 'hidden' | 'forgotten'>

function sortCut(cut: CutRecords, pageBytes: number, { memory, places, ...options }: CutOptions): Sorting | undefined {
  const rowIds = pick(new Uint32Array(places.length), memory.columns.rowIds, places)
  const isAnyKnown = rowIds.some((rowId) => rowId !== 0)
  const records = isAnyKnown ? parseUnknown(cut, rowIds) : cut.records()
  const warningsAt = (at: number) => memory.oddityAt(places[at] ?? NOWHERE)
  return records && sortRecords(records, { ...options, pageBytes, known: { rowIds, warningsAt } })
}

/** The entries of a column at these places; 0 where there is none. */
function pick<Column extends Uint8Array | Uint32Array>(into: Column, column: Column, places: Int32Array): Column {
  // A loop: creating a column from another one with a function takes ten times as long.
  for (let at = 0; at < places.length; at += 1) into[at] = column[places[at] ?? NOWHERE] ?? 0
  return into
}

/** The records in order, without the known ones; undefined if one cannot be parsed. */
function parseUnknown(cut: CutRecords, rowIds: Uint32Array): unknown[] | undefined {
  const records: unknown[] = []
  for (let at = 0; at < rowIds.length; at += 1) {
    const record = rowIds[at] === 0 ? cut.record(at) : undefined
    if (rowIds[at] === 0 && record === undefined) return undefined
    records.push(record)
  }
  return records
}

/** Whether a parsed customer may be one of the known ones. */
function isAnyTwice(cut: CutRecords, { customers, places, rowIds }: Sorting, { idFingerprints }: Prints): boolean {
  if (customers.length === 0) return false
  const parsed = new Set(places.map((at) => idFingerprints[at]))
  if (customers.some(({ id }, index) => !cut.hasId(places[index] ?? 0, id))) return true
  // Mostly few are parsed and many are known: a set of the few is the smaller one.
  return rowIds.some((rowId, at) => rowId !== 0 && parsed.has(idFingerprints[at]))
}

function withMarks(
  cut: CutRecords,
  sorted: Sorting,
  { memory, places, prints }: Places & { prints: Prints },
): Recognized {
  const { customers, rejects, suppressed, rows, oddities: warnings } = sorted
  // Rejects and forgotten customers have no row, and an id that was not found in the bytes could not be compared.
  for (const { position } of [...rejects, ...suppressed]) {
    prints.fingerprints[position] = UNKNOWN
    prints.idFingerprints[position] = UNKNOWN
  }
  customers.forEach(({ id }, index) => {
    const at = sorted.places[index] ?? 0
    if (!cut.hasId(at, id)) prints.fingerprints[at] = UNKNOWN
  })
  const rowAt = (at: number) => (rows[at] ??= rowOf(cut.record(at)))
  const comparisons = new Uint8Array(rows.length)
  if (rejects.length > 0) rows.forEach((_, at) => rowAt(at))
  else compareAll(comparisons, rowAt, { memory, places })
  const oddities = pick(new Uint8Array(places.length), memory.columns.oddities, places)
  return { sorted, marks: { ...prints, comparisons, oddities, warnings }, rowAt }
}

/** Compares neighbours; two that were neighbours in the list as last read compare as before. */
function compareAll(comparisons: Uint8Array, rowAt: (at: number) => Row, { memory, places }: Places): void {
  const last = places.length - 1
  for (let at = 0; at <= last; at += 1) {
    const place = places[at] ?? NOWHERE
    const isAsBefore = place >= 0 && (at === last || places[at + 1] === place + 1)
    if (isAsBefore) comparisons[at] = memory.columns.comparisons[place] ?? 0
  }
  compareEach(comparisons, rowAt)
}
