/** The first of `length` indexes for which a condition holds that holds for all behind it too; `length` if it holds for none. */
export function firstIndex(length: number, holds: (index: number) => boolean): number {
  let [from, to] = [0, length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if (holds(middle)) to = middle
    else from = middle + 1
  }
  return from
}
