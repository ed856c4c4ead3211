import type { PassProof } from '../certificate.ts'
import type { Findings } from '../findings.ts'
import type { Reason } from '../reasons.ts'
import type { Overlap, Seam } from '../window/overlap.ts'
import type { ReadWindow } from '../window/read-window.ts'
import { Seams } from './seams.ts'
import { TieRegion } from './tie-region.ts'
import { spans, WITNESSES, type Witness } from './witness.ts'

/** Two neighbours of a chain. */
type Link = { readonly left: ReadWindow; readonly read: ReadWindow; readonly seam?: Seam | undefined }

/** The evidence of one chain of windows: whether the list stood still, and which witnesses span every overlap. */
export class ChainProof {
  readonly #findings: Findings
  readonly #spanning = new Set(WITNESSES)
  readonly #obstacles = new Set<Reason>()
  readonly seams: Seams
  /** The overlaps of the chain, as long as all of them share rows in the same order. */
  #inOrder: Seam[] | undefined = []
  /** The parts of the list that no seam proves and that can be counted. */
  readonly ties = new TieRegions()
  /** Two neighbours share only rows of one creation time. */
  #crossesTie = false
  #windows = 0
  #still = true

  constructor(findings: Findings) {
    this.#findings = findings
    this.seams = new Seams(findings)
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
    this.#inOrder = undefined
    this.seams.cut()
  }

  /** The chain goes on from `left` to `read`. The seam is needed where the order of the list as last read may vouch for the chain. */
  link(overlap: Overlap, { left, read, seam }: Link): void {
    this.#windows += 1
    this.seams.link(overlap, [left, read])
    this.#findings.witnesses.observeOverlap(overlap)
    const isInside = isInsideTie(overlap, left)
    this.#crossesTie ||= isInside
    if (isInside) this.ties.cross(left, read)
    else this.ties.leave()
    for (const witness of this.#spanning) {
      if (!spans(witness, overlap) && !(isInside && isByTimeOnly(witness))) this.#spanning.delete(witness)
    }
    this.#seam(overlap, seam)
    if (overlap.still) return
    this.#still = false
    if (overlap.reordered) this.#obstacles.add('order-unstable')
    else if (overlap.shared === 0) this.#obstacles.add('link-broken')
    else this.#obstacles.add('not-quiet')
  }

  /** In an order that never changes, one row in common is enough (see certificate.ts). */
  #seam({ shared, reordered, atBeginning }: Overlap, seam: Seam | undefined): void {
    if (atBeginning) this.#inOrder = []
    else if (shared === 0 || reordered || seam === undefined) this.#inOrder = undefined
    else this.#inOrder?.push(seam)
  }

  /** The believed witnesses that span every overlap so far. */
  vouching(): readonly Witness[] {
    return this.#findings.believed.filter((witness) => this.#spanning.has(witness))
  }

  /** The candidates that may yet vouch for this chain. */
  hopes(): readonly Witness[] {
    return this.#findings.possible.filter((witness) => this.#spanning.has(witness))
  }

  /** Whether a witness that spans every overlap so far spans this one too. */
  carries(overlap: Overlap): boolean {
    return this.vouching().some((witness) => spans(witness, overlap))
  }

  /** Whether the rows at the end of `left` may stand anywhere among others of their creation time. */
  mayShuffle(left: ReadWindow): boolean {
    return left.rowOrder.tieAtEnd > 1 && this.#findings.witnesses.onlyTimes && this.hopes().length > 0
  }

  /** Whether the seam lies among rows of one creation time that can only be counted, because times alone may order the list. */
  isToBeCounted(overlap: Overlap, left: ReadWindow): boolean {
    return isInsideTie(overlap, left) && this.#findings.witnesses.onlyTimes && this.hopes().length > 0
  }

  /** What is left to count before a witness vouches for the chain. */
  toCount(): readonly TieRegion[] {
    return this.#still || this.vouching().some(({ total }) => total) || this.vouching().length === 0
      ? []
      : this.ties.all
  }

  proof(): PassProof | undefined {
    if (this.#windows === 1) return { basis: 'one-page' }
    if (this.#still && this.seams.areOfOneStretch) return { basis: 'quiet' }
    const vouching = this.vouching()
    const isProven = (witness: Witness) => witness.total || this.ties.all.length === 0
    const witness = vouching.find(isProven)
    if (witness !== undefined) return { basis: 'witness', witness: witness.name }
    const evidence = this.#inOrder && this.#findings.remembered.evidence(this.#inOrder)
    if (evidence !== undefined) return { basis: 'remembered order', witness: 'remembered order', evidence }
    const [counted] = this.ties.areCounted ? vouching : []
    return counted && { basis: 'counted', witness: counted.name }
  }

  /**
   * Whether every seam is firm. Where only creation times order the list, rows of one second may change places with every answer:
   * then neighbours must also share rows of two times, or such rows were seen to keep their order.
   */
  get settles(): boolean {
    const isRestlessTie = this.#findings.witnesses.onlyTimes && (this.#crossesTie || this.hopes().length === 0)
    return this.seams.areFirm && (!isRestlessTie || this.seams.areTiesStable)
  }

  /** Why there is no proof, where there is none. */
  get obstacles(): readonly Reason[] {
    const { believed, witnesses } = this.#findings
    if (believed.length > 0 && witnesses.onlyTimes) return ['ties', ...this.#obstacles]
    return [...this.#obstacles]
  }
}

/** Whether rows of equal time may stand in any order. */
function isByTimeOnly({ dated, total }: Witness): boolean {
  return dated && !total
}

/** From this share of a window on, rows of equal time are too many to step back over. */
const LONG_TIE = 0.5

/** Whether a seam lies among so many rows of one creation time that no window leads over them. */
function isInsideTie({ ends }: Overlap, left: ReadWindow): boolean {
  return ends?.times === 0 && left.rowOrder.tieAtEnd >= left.window.size * LONG_TIE
}

/** The regions of equal creation times that a chain has crossed. */
export class TieRegions {
  readonly #regions: TieRegion[] = []
  #open: TieRegion | undefined

  /** The chain went on from `left` to `read` within a region. */
  cross(left: ReadWindow, read: ReadWindow): void {
    if (this.#open !== undefined) return this.#open.extend(read)
    this.#open = new TieRegion(left, read)
    this.#regions.push(this.#open)
  }

  /** The chain went on, or ended, outside a region. */
  leave(): void {
    this.#open?.close()
    this.#open = undefined
  }

  get all(): readonly TieRegion[] {
    return this.#regions
  }

  get areCounted(): boolean {
    return this.#regions.every(({ isCounted }) => isCounted)
  }
}
