import { RowSet } from '../../../list/row-set.ts'

/** An organization that had no rows takes half a megabyte at most, and of a million ids a quarter is looked up for nothing. */
const BITS = 22

/**
 * Ids that a run has saved into an organization that had no rows before: no other one has to be looked up before it is inserted. A few
 * that it has not saved seem to be among them.
 */
export class SavedIds {
  readonly #places = new RowSet()

  /** Adds ids, and returns those that may have been added before: all that were, and a few others. */
  add(ids: Iterable<string>): Set<string> {
    const before = new Set<string>()
    for (const id of ids) if (!this.#places.add(placeOf(id))) before.add(id)
    return before
  }
}

/** UUIDs of one time begin alike, and those of one machine may end alike: every character counts. */
function placeOf(id: string): number {
  let place = 0
  for (let at = 0; at < id.length; at += 1) place = Math.imul(place ^ id.charCodeAt(at), SPREAD)
  return place >>> (32 - BITS)
}

/** An odd number near 2^32 divided by the golden ratio: numbers in a row come to lie far apart. */
const SPREAD = 0x9e37_79b1
