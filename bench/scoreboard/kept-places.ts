/** A page as it was read: the ids of its customers in the order served, in lower case. */
export type PageRead = readonly string[]

export type KeptPlaces = {
  /** The customers listed from the first request to the last answer who kept their places among one another, in that order. */
  stayed: ReadonlySet<string>
  /** Those who moved meanwhile; customers who came or left need not have. */
  moved: ReadonlySet<string>
}

/**
 * The customers that a settled scan must have read: those who stayed. With all others left out, every page is a piece of one sequence
 * that never changes, and two pages that share a customer who did not move leave no gap in it. So a customer who stayed may be
 * unread only between two pages that share customers of whom all moved.
 */
export function owedBySettled({ stayed, moved }: KeptPlaces, pages: readonly PageRead[]): ReadonlySet<string> {
  const unread = stayed.difference(new Set(pages.flat()))
  if (unread.size === 0) return stayed
  const ranks = new Map([...stayed].map((id, rank) => [id, rank]))
  const seams = seamsOfMoved(pages, moved, ranks)
  return new Set([...stayed].filter((id) => !unread.has(id) || !seams.some(between(ranks.get(id) ?? 0))))
}

/** The places, among those who stayed, of the customers on a page; without any of them the page may stand anywhere. */
type Piece = { first: number; last: number }

type Seam = { one: Piece; other: Piece }

/** Pairs of pages that share two customers or more, all of whom moved. */
function seamsOfMoved(
  pages: readonly PageRead[],
  moved: ReadonlySet<string>,
  ranks: ReadonlyMap<string, number>,
): Seam[] {
  const sets = pages.map((page) => new Set(page))
  const pieces = pages.map((page) => pieceOf(page, ranks))
  const seams: Seam[] = []
  for (const [index, set] of sets.entries()) {
    const movedHere = set.intersection(moved)
    if (movedHere.size < 2) continue
    for (const [before, earlier] of sets.slice(0, index).entries()) {
      if (movedHere.intersection(earlier).size < 2) continue
      const [one, other] = [pieces[before], pieces[index]]
      if (one !== undefined && other !== undefined && set.intersection(earlier).isSubsetOf(moved))
        seams.push({ one, other })
    }
  }
  return seams
}

function pieceOf(page: PageRead, ranks: ReadonlyMap<string, number>): Piece {
  const places = page.flatMap((id) => ranks.get(id) ?? [])
  return { first: Math.min(...places), last: Math.max(...places) }
}

/** A page without any who stayed has its first place at infinity and its last before all: it bounds a gap on either side. */
function between(rank: number): (seam: Seam) => boolean {
  return ({ one, other }) => (one.last < rank && rank < other.first) || (other.last < rank && rank < one.first)
}
