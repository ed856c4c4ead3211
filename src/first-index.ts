/**
 * Binary search: the first of `length` indexes for which `holds` is true, given that it is true for all later ones; `length` if it is true
 * for none.
 */
export function firstIndex(length: number, holds: (index: number) => boolean): number {
  let [from, to] = [0, length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if (holds(middle)) to = middle
    else from = middle + 1
  }
  return from
}
