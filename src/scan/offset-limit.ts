import { endOf, startOf, windowAt, type Sizes, type Window } from './window.ts'

/** Finds the last position that a service shows which refuses the pages behind it. */
export class OffsetLimit {
  readonly #sizes: Sizes & { readonly isFixed: boolean }
  /** Windows that end here or behind it are refused. */
  #ceiling = Infinity

  constructor(sizes: Sizes & { readonly isFixed: boolean }) {
    this.#sizes = sizes
  }

  /** Whether the service was seen to refuse a window for its position. */
  get isMet(): boolean {
    return this.#ceiling < Infinity
  }

  /** The window to ask for next, to go on with a list that was read up to `reach`; undefined where no more can be asked for. */
  next(reach: number, refused?: Window): Window | undefined {
    if (refused !== undefined) this.#ceiling = Math.min(this.#ceiling, endOf(refused))
    const { size: most, isFixed, grain } = this.#sizes
    const windows: Window[] = []
    for (let size = most; size >= (isFixed ? most : grain); size -= grain) {
      for (let { page } = windowAt(reach - 1, size); endOf({ page, size }) < this.#ceiling; page += 1) {
        const window = { page, size }
        if (startOf(window) > reach) break
        if (endOf(window) > reach) windows.push(window)
      }
    }
    // Limits are round numbers.
    return windows.toSorted((one, other) => roundnessOf(endOf(other)) - roundnessOf(endOf(one)))[0]
  }
}

/** How many zeros a position ends with. */
function roundnessOf(position: number): number {
  let zeros = 0
  for (let rest = position; rest > 0 && rest % 10 === 0; rest /= 10) zeros += 1
  return zeros
}
