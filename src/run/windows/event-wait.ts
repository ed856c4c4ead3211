/** Without an event for so long, there is time for something else. */
const QUIET_MS = 2

/** Lets one reader wait for the next event, or until there was none for a moment. */
export class EventWait {
  #wake: () => void = () => {}
  #onQuiet: () => void = () => {}
  /** Started anew rather than made anew: a page is waited for several times. */
  #quiet: NodeJS.Timeout | undefined

  /** An event happened. */
  notify(): void {
    this.#wake()
  }

  next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    this.#onQuiet = () => {}
    return promise
  }

  /** False when it was quiet first. */
  nextBeforeQuiet(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#wake = () => resolve(true)
    this.#onQuiet = () => resolve(false)
    this.#quiet = this.#quiet?.refresh() ?? setTimeout(() => this.#onQuiet(), QUIET_MS)
    return promise
  }

  dispose(): void {
    clearTimeout(this.#quiet)
  }
}
