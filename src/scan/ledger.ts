import type { PassProof } from './certificate.ts'
import type { Facts } from './facts.ts'
import type { Reason } from './reasons.ts'
import type { Seam } from './seam.ts'
import { spans, WITNESSES, type Witness } from './witness.ts'

/** Keeps account of one chain of windows: whether it stood still, and which witnesses span every seam of it. */
export class Ledger {
  readonly #facts: Facts
  readonly #spanning = new Set(WITNESSES)
  readonly #obstacles = new Set<Reason>()
  #windows = 0
  #still = true

  constructor(facts: Facts) {
    this.#facts = facts
  }

  get windows(): number {
    return this.#windows
  }

  /** No row has shifted and no total has changed in any seam so far. */
  get still(): boolean {
    return this.#still
  }

  /** The first window of a chain, or the first after positions nobody could read. */
  begin(): void {
    this.#windows += 1
  }

  /** The chain was cut; nothing spans that. */
  cut(): void {
    this.#still = false
    this.#spanning.clear()
  }

  link(seam: Seam): void {
    this.#windows += 1
    this.#facts.witnesses.observeSeam(seam)
    for (const witness of this.#spanning) if (!spans(witness, seam)) this.#spanning.delete(witness)
    if (seam.still) return
    this.#still = false
    if (seam.reordered) this.#obstacles.add('order-unstable')
    else if (seam.shared === 0) this.#obstacles.add('link-broken')
    else this.#obstacles.add('not-quiet')
  }

  /** The believed witnesses that span every seam so far. */
  vouching(): readonly Witness[] {
    return this.#facts.witnesses.believed(this.#facts.pageSize).filter((witness) => this.#spanning.has(witness))
  }

  /** The candidates that may yet vouch for this chain. */
  hopes(): readonly Witness[] {
    return this.#facts.witnesses.possible(this.#facts.pageSize).filter((witness) => this.#spanning.has(witness))
  }

  /** Whether a witness that spans every seam so far spans this one too. */
  carries(seam: Seam): boolean {
    return this.vouching().some((witness) => spans(witness, seam))
  }

  proof(): PassProof | undefined {
    if (this.#windows === 1) return { basis: 'one-page' }
    if (this.#still) return { basis: 'quiet' }
    const [witness] = this.vouching()
    return witness && { basis: 'witness', witness: witness.name }
  }

  /** Why there is no proof, where there is none. */
  get obstacles(): readonly Reason[] {
    const believed = this.#facts.witnesses.believed(this.#facts.pageSize)
    if (believed.length > 0 && this.#facts.witnesses.onlyTimes) return ['ties', ...this.#obstacles]
    return [...this.#obstacles]
  }
}
