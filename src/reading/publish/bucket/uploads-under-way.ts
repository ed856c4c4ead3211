/** How many objects are sent at a time, each with parts of its own in memory. */
const AT_ONCE = 4

/** Uploads that go on while the next object is made. The first one that fails stops the others from being begun. */
export class UploadsUnderWay {
  readonly #underWay = new Set<Promise<void>>()
  readonly #failures: unknown[] = []
  /** Whether another process removed what was being written. */
  isOvertaken = false

  /** Returns when another upload may begin. Throws what an upload has thrown. */
  async room(): Promise<void> {
    while (this.#underWay.size >= AT_ONCE) await Promise.race(this.#underWay)
    this.requireDone()
  }

  /** `end` is called when it is over, whatever became of it. */
  begin(upload: () => Promise<boolean>, end: () => void): void {
    const under = upload()
      .then((isWritten) => {
        if (!isWritten) this.isOvertaken = true
      })
      .catch((error: unknown) => void this.#failures.push(error))
      .finally(() => {
        end()
        this.#underWay.delete(under)
      })
    this.#underWay.add(under)
  }

  async ended(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  requireDone(): void {
    if (this.#failures.length > 0) throw this.#failures[0]
  }
}
