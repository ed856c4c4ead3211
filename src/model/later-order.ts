import * as z from 'zod'
import { parsedJson } from '../text/parsed-json.ts'

/** The order of a list since it was read, as far as quick runs know it. */
export type LaterOrder = z.output<typeof laterSchema>

const rowId = z.int().min(0)
const laterSchema = z.object({
  /** In list order: a row number, 0 for a record without a customer, or [place, count] of rows that stand together as they did. */
  parts: z.array(z.union([rowId, z.tuple([rowId, rowId])])),
  /** Rows that left their places, while it is unknown whether they stand elsewhere. */
  pending: z.array(rowId),
})

/** The order in a stored text; undefined if it has no meaning for this program. */
export function readLaterOrder(text: string | null): LaterOrder | undefined {
  return laterSchema.safeParse(parsedJson(text ?? '')).data
}

/** The rows of a list that has changed since it was read as `before`; all of `before` where nothing is known. */
export function rowsSince(before: Uint32Array, later: LaterOrder | undefined): Uint32Array {
  if (later === undefined) return before
  const length = later.parts.reduce<number>((sum, part) => sum + (typeof part === 'number' ? 1 : part[1]), 0)
  const rowIds = new Uint32Array(length)
  let at = 0
  for (const part of later.parts) {
    if (typeof part === 'number') rowIds[at++] = part
    else {
      const [place, count] = part
      // Parts of another list have no meaning here.
      if (place + count > before.length) return before
      rowIds.set(before.subarray(place, place + count), at)
      at += count
    }
  }
  return rowIds
}

/** Describes an order by what stands together as in `before`. `placeOf` gives the place of a row there, or -1. */
export function partsOf(order: readonly number[], placeOf: (rowId: number) => number): LaterOrder['parts'] {
  const parts: LaterOrder['parts'] = []
  let last: [number, number] | undefined
  for (const row of order) {
    const place = row === 0 ? -1 : placeOf(row)
    if (last !== undefined && place === last[0] + last[1]) last[1] += 1
    else if (place < 0) {
      parts.push(row)
      last = undefined
    } else {
      last = [place, 1]
      parts.push(last)
    }
  }
  return parts
}
