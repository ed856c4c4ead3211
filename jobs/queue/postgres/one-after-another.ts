import { setImmediate as nextTurn } from 'node:timers/promises'

/** Work that blocks this thread: one piece after another, as they were asked for, and a few in one turn of the event loop. */
export class OneAfterAnother {
  readonly #inTurn: number
  #before: Promise<unknown> = Promise.resolve()
  /** How many pieces were begun in this turn. */
  #begun = 0

  constructor({ inTurn }: { inTurn: number }) {
    this.#inTurn = inTurn
  }

  begin<Result>(work: () => Promise<Result>): Promise<Result> {
    const begun = this.#before.then(async () => {
      if (this.#begun >= this.#inTurn) await nextTurn()
      // Called in the next turn before what waits for it: that is put behind it in the queue.
      if (this.#begun === 0) setImmediate(() => (this.#begun = 0))
      this.#begun += 1
      return await work()
    })
    this.#before = begun.catch(() => {})
    return begun
  }
}
