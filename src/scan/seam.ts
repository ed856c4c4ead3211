import type { Held } from './held.ts'

/** What two neighbouring windows say of each other. */
export type Seam = {
  /** Ids in both. */
  readonly shared: number
  /** Every shared position holds the same id in both, no id is shared elsewhere, and the total is the same. */
  readonly still: boolean
  /** Shared ids stand half a window away from where they stood, although the total is the same. */
  readonly displaced: boolean
  /** Two shared ids stand in a different order. */
  readonly reordered: boolean
  /** A shared id carries different creation times. */
  readonly redated: boolean
}

/** Compares two windows; `left` lies before `right` in the chain, whichever was read first. */
export function seamBetween(left: Held, right: Held): Seam {
  let shared = 0
  let reordered = false
  let redated = false
  let furthest = 0
  let previous = -1
  let index = -1
  for (const row of right.rows) {
    index += 1
    const place = left.places.get(row.id)
    if (place === undefined) continue
    shared += 1
    reordered ||= place < previous
    redated ||= left.rows[place]?.createdAt !== row.createdAt
    furthest = Math.max(furthest, Math.abs(right.start + index - left.start - place))
    previous = place
  }
  const displaced = left.total === right.total && furthest >= left.window.size / 2
  return { shared, displaced, still: standsStill(left, right, shared), reordered, redated }
}

function standsStill(left: Held, right: Held, shared: number): boolean {
  if (shared === 0 || left.total === undefined || left.total !== right.total) return false
  const from = Math.max(left.start, right.start)
  const to = Math.min(left.reach, right.reach)
  let readable = 0
  for (let position = from; position < to; position++) {
    const id = left.ids[position - left.start]
    if (id !== right.ids[position - right.start]) return false
    if (id !== undefined) readable += 1
  }
  return readable === shared
}

/** The same rows at different positions: one of the two answers is most likely another's. */
export function repeats(left: Held, right: Held): boolean {
  const compared = Math.min(left.ids.length, right.ids.length)
  if (left.start === right.start || left.total !== right.total || compared < 2) return false
  return left.ids.every((id, place) => place >= compared || id === right.ids[place])
}
