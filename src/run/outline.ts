import type { Row } from '../customer.ts'
import { orderOfRows, type RowOrder } from '../scan/row-order.ts'
import type { Sorted } from '../sorted-page.ts'

/** What the scan needs of a window besides its row numbers. It is kept with a window that may come again. */
export type Outline = {
  /** The first and the last row; undefined in a window without rows. */
  readonly ends: readonly [Row, Row] | undefined
  /** How its rows compare, each with the next; undefined where one of them has no readable id. */
  readonly order: RowOrder | undefined
}

export function outlineOf({ rows, rejects }: Pick<Sorted, 'rows' | 'rejects'>): Outline {
  const [first, last] = [rows.at(0), rows.at(-1)]
  const ends = first === undefined || last === undefined ? undefined : ([endOf(first), endOf(last)] as const)
  return { ends, order: rejects.length === 0 ? orderOfRows(rows) : undefined }
}

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
