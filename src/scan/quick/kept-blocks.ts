import { firstIndex } from '../../first-index.ts'
import type { Block } from './cut.ts'

/** A block with the most rows that can stand before it. */
type Link = { readonly block: Block; readonly before: Link | undefined; readonly rows: number }

/**
 * The blocks with the most rows that follow one another both in the list and in the expected order; all other rows have moved. `blocks`
 * are given in the order of the list. Two may begin with the same row, where two cuts overlap.
 */
export function keptBlocks(blocks: readonly Block[]): Block[] {
  // In the order of their places, and of their rows: a link with fewer rows behind one with more is of no use.
  const frontier: Link[] = []
  for (const block of blocks) {
    const at = firstIndex(frontier.length, (index) => (frontier[index]?.block.place ?? Infinity) >= block.place)
    const there = frontier[at]?.block.place === block.place ? frontier[at] : undefined
    const before = there !== undefined && there.block.cut.reach > block.cut.start ? there : frontier[at - 1]
    const link = { block, before, rows: (before?.rows ?? 0) + block.length }
    if (there !== undefined && there.rows >= link.rows) continue
    let end = at
    while ((frontier[end]?.rows ?? Infinity) <= link.rows) end += 1
    frontier.splice(at, end - at, link)
  }
  const kept: Block[] = []
  for (let link = frontier.at(-1); link !== undefined; link = link.before) kept.push(link.block)
  return kept.toReversed()
}
