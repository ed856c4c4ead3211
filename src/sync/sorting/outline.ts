import type { Row } from '../../model/customer.ts'
import { orderOf, orderOfRows, type RowOrder } from '../../scan/row-order.ts'
import type { Sorted } from '../../model/page.ts'
import type { Recognized } from './recognize.ts'

/** The data of a window that the scan needs besides its row numbers. Stored with the window, for when it is recognized. */
export type Outline = {
  /** The first and the last row; undefined in a window without rows. */
  readonly ends: readonly [Row, Row] | undefined
  /** How each row compares with the next; undefined if one of them has no readable id. */
  readonly order: RowOrder | undefined
}

/** The outline of a page that was sorted; with `marks` its rows were compared, and `rowAt` gives any of them. */
export function outlineOf({ sorted, marks, rowAt }: SortedAndRead): Outline {
  const { rows, rejects } = sorted
  const last = rows.length - 1
  const rowsAt = rowAt ?? ((place: number) => rows[place] ?? NO_ROW)
  const ends = last < 0 ? undefined : ([endOf(rowsAt(0)), endOf(rowsAt(last))] as const)
  if (rejects.length > 0) return { ends, order: undefined }
  return {
    ends,
    order: marks === undefined ? orderOfRows(rows.map((_, at) => rowsAt(at))) : orderOf(marks.comparisons),
  }
}

type SortedAndRead = { sorted: Pick<Sorted, 'rows' | 'rejects'> } & Partial<Pick<Recognized, 'marks' | 'rowAt'>>

const NO_ROW: Row = { id: undefined, createdAt: undefined }

function endOf({ id, createdAt }: Row): Row {
  return { id, createdAt }
}

/** The outline as it is kept with its window. */
export function writeOutline(outline: Outline): string {
  return JSON.stringify(outline)
}

export function readOutline(json: string): Outline {
  const outline: Outline = JSON.parse(json)
  return outline
}
