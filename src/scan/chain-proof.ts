import type { PassProof } from './certificate.ts'
import type { Findings } from './findings.ts'
import type { Reason } from './reasons.ts'
import type { Overlap, Seam } from './overlap.ts'
import { spans, WITNESSES, type Witness } from './witness.ts'

/** The evidence of one chain of windows: whether the list stood still, and which witnesses span every overlap. */
export class ChainProof {
  readonly #findings: Findings
  readonly #spanning = new Set(WITNESSES)
  readonly #obstacles = new Set<Reason>()
  /** The overlaps of the chain, as long as all of them share rows in the same order. */
  #seams: Seam[] | undefined = []
  #windows = 0
  #still = true

  constructor(findings: Findings) {
    this.#findings = findings
  }

  get windows(): number {
    return this.#windows
  }

  /** No row has shifted and no total has changed in any overlap so far. */
  get still(): boolean {
    return this.#still
  }

  /** The first window of a chain, or the first after positions that could not be read. */
  begin(): void {
    this.#windows += 1
  }

  /** Positions were left unread; no witness spans them. */
  cut(): void {
    this.#still = false
    this.#spanning.clear()
    this.#seams = undefined
  }

  /** The seam is needed where the order of the list as last read may vouch for the chain. */
  link(overlap: Overlap, seam?: Seam): void {
    this.#windows += 1
    this.#findings.witnesses.observeOverlap(overlap)
    for (const witness of this.#spanning) if (!spans(witness, overlap)) this.#spanning.delete(witness)
    this.#seam(overlap, seam)
    if (overlap.still) return
    this.#still = false
    if (overlap.reordered) this.#obstacles.add('order-unstable')
    else if (overlap.shared === 0) this.#obstacles.add('link-broken')
    else this.#obstacles.add('not-quiet')
  }

  /** In an order that never changes, one row in common is enough (see certificate.ts). */
  #seam({ shared, reordered, atBeginning }: Overlap, seam: Seam | undefined): void {
    if (atBeginning) this.#seams = []
    else if (shared === 0 || reordered || seam === undefined) this.#seams = undefined
    else this.#seams?.push(seam)
  }

  /** The believed witnesses that span every overlap so far. */
  vouching(): readonly Witness[] {
    return this.#findings.witnesses.believed(this.#findings.pageSize).filter((witness) => this.#spanning.has(witness))
  }

  /** The candidates that may yet vouch for this chain. */
  hopes(): readonly Witness[] {
    return this.#findings.witnesses.possible(this.#findings.pageSize).filter((witness) => this.#spanning.has(witness))
  }

  /** Whether a witness that spans every overlap so far spans this one too. */
  carries(overlap: Overlap): boolean {
    return this.vouching().some((witness) => spans(witness, overlap))
  }

  proof(): PassProof | undefined {
    if (this.#windows === 1) return { basis: 'one-page' }
    if (this.#still) return { basis: 'quiet' }
    const [witness] = this.vouching()
    if (witness !== undefined) return { basis: 'witness', witness: witness.name }
    const evidence = this.#seams && this.#findings.remembered.evidence(this.#seams)
    return evidence && { basis: 'remembered order', witness: 'remembered order', evidence }
  }

  /** Why there is no proof, where there is none. */
  get obstacles(): readonly Reason[] {
    const believed = this.#findings.witnesses.believed(this.#findings.pageSize)
    if (believed.length > 0 && this.#findings.witnesses.onlyTimes) return ['ties', ...this.#obstacles]
    return [...this.#obstacles]
  }
}
