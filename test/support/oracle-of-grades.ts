/** One answer of a service: the customers on the page, and the whole list in the order from which it was cut. */
export type Cut = {
  start: number
  size: number
  served: readonly number[]
  list: readonly number[]
}

/** What truly happened while a list was read. */
export type History = {
  /** All answers, in the order in which they were cut. */
  cuts: readonly Cut[]
  /** Listed from before the first answer until after the last. */
  lived: readonly number[]
  /** Customers who stood elsewhere among the others at some time between the two. */
  moved: ReadonlySet<number>
}

/** Customers who were listed throughout and are on no page: a proven reading has none. */
export function unread({ cuts, lived }: History): number[] {
  const read = new Set(cuts.flatMap(({ served }) => served))
  return lived.filter((serial) => !read.has(serial))
}

/**
 * What a settled reading must not have: no chain of pages from the first row to the last in which neighbours share two customers or
 * more, in the same order; or a customer unread who was listed throughout and kept their place, unless it stood between two pages
 * that share customers of whom all moved.
 */
export function againstSettled(history: History): string[] {
  const cuts = history.cuts.map((cut) => ({ ...cut, ids: new Set(cut.served) }))
  const faults = hasChain(cuts)
    ? []
    : ['no chain of pages that share two customers leads from the first row to the last']
  const { moved } = history
  for (const serial of unread(history)) {
    if (moved.has(serial)) continue
    const before = cuts.filter((cut) => isAfter(serial, cut))
    const behind = cuts.filter((cut) => isBefore(serial, cut))
    const isBetweenMoved = before.some((left) =>
      behind.some((right) => {
        const shared = left.ids.intersection(right.ids)
        return shared.size >= 2 && shared.isSubsetOf(moved)
      }),
    )
    if (!isBetweenMoved) faults.push(`customer ${serial} kept their place and was not read`)
  }
  return faults
}

type CutWithIds = Cut & { ids: ReadonlySet<number> }

/** Whether the customer stood behind all rows of the page when it was cut, or before all of them. */
function isAfter(serial: number, { list, start, served }: Cut): boolean {
  return list.indexOf(serial) >= start + served.length
}

function isBefore(serial: number, { list, start }: Cut): boolean {
  return list.indexOf(serial) < start
}

function hasChain(cuts: readonly CutWithIds[]): boolean {
  const reached = cuts.filter(({ start }) => start === 0)
  const left = new Set(cuts.filter(({ start }) => start > 0))
  for (const from of reached) {
    if (from.start + from.served.length >= from.list.length) return true
    for (const to of left) {
      if (!areLinked(from, to)) continue
      left.delete(to)
      reached.push(to)
    }
  }
  return false
}

function areLinked(one: CutWithIds, other: CutWithIds): boolean {
  const shared = one.ids.intersection(other.ids)
  const inOrder = (cut: Cut): string => cut.served.filter((serial) => shared.has(serial)).join()
  return shared.size >= 2 && inOrder(one) === inOrder(other)
}
