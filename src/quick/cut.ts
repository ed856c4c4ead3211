import { keyOf, type Row, type WindowAnswer } from '../scan/window.ts'

/** The records that are expected in the list, in order. */
export type ExpectedOrder = {
  /** The row number of each record; 0 where a record without a customer is expected. */
  readonly rowIds: ArrayLike<number>
  /** The place of a row number among them; -1 where it is not expected. */
  placeOf(rowId: number): number
}

/** The unbroken part of the list that one answer shows. */
export type Cut = {
  /** Position of its first row, and the position after its last. */
  readonly start: number
  readonly reach: number
  /** The row number of each record; 0 of one without a customer. */
  readonly rowIds: readonly number[]
  /** Whether the same answer shows that the list ends here. */
  readonly isEnd: boolean
  /** The positions of records that may belong to any customer: without a readable id, or with one that stands further up on the page. */
  readonly nameless: readonly number[]
  readonly blocks: readonly Block[]
}

/** Rows of a cut that follow one another as expected: `length` of them, from `at` on, expected from `place` on. */
export type Block = {
  readonly cut: Pick<Cut, 'start' | 'reach'>
  readonly at: number
  readonly place: number
  readonly length: number
}

/** What an answer shows of the list, as far as its rows are expected. */
export function cutFrom({ window, rows, perPage, total }: WindowAnswer, expected: ExpectedOrder): Cut {
  const start = perPage * (window.page - 1)
  const reach = start + rows.length
  const isEnd = total === undefined ? rows.length < perPage : total === reach
  const nameless = namelessOf(rows)
  const rowIds = rows.map((row, at) => (nameless.includes(at) ? 0 : rowIdOf(row)))
  const positions = nameless.map((at) => start + at)
  return { start, reach, rowIds, isEnd, nameless: positions, blocks: blocksOf(rowIds, { start, reach }, expected) }
}

function namelessOf(rows: readonly Row[]): number[] {
  const keys = rows.map(keyOf)
  return [...keys.keys()].filter((at) => keys[at] === undefined || keys.indexOf(keys[at]) < at)
}

/** Forgotten customers and rejects have no row. */
function rowIdOf({ rowId = 0 }: Row): number {
  return Math.max(0, rowId)
}

function blocksOf(rowIds: readonly number[], cut: Block['cut'], expected: ExpectedOrder): Block[] {
  const blocks: { cut: Block['cut']; at: number; place: number; length: number }[] = []
  for (const [at, rowId] of rowIds.entries()) {
    const place = rowId === 0 ? -1 : expected.placeOf(rowId)
    if (place < 0) continue
    const last = blocks.at(-1)
    const follows = last !== undefined && place === last.place + last.length && at === last.at + last.length
    if (follows) last.length += 1
    else blocks.push({ cut, at, place, length: 1 })
  }
  return blocks
}

export function byPosition(one: Pick<Cut, 'start' | 'reach'>, other: Pick<Cut, 'start' | 'reach'>): number {
  return one.start - other.start || one.reach - other.reach
}
