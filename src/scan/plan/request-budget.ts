import { isRoundCap } from '../capped-total.ts'
import { passCap } from './planner.ts'

/** How many requests a scan may make: a fixed number in all, and in each pass what a pass over its rows needs. */
export class RequestBudget {
  readonly #most: number
  #spent = 0
  #spentInPass = 0
  /** The total the pass began with: a service that raises its total with every answer does not raise the limit. */
  #rows: number | undefined
  /** Where no total was stated, the limit follows these. */
  #found = 0

  constructor(most: number) {
    this.#most = most
  }

  /** A pass over `rows` rows begins; undefined when its first answer will state the number. */
  startPass(rows: number | undefined): void {
    this.#spentInPass = 0
    this.#rows = rows
  }

  /** `found` rows were found so far: behind a total that stands at a round cap, the limit follows them. */
  answered(total: number | undefined, found: number): void {
    this.#rows ??= total
    this.#found = found
    if (total !== undefined && isRoundCap(total) && found > total) this.#rows = Math.max(this.#rows ?? 0, found)
  }

  spend(): void {
    this.#spent += 1
    this.#spentInPass += 1
  }

  allowsOneMore(pageSize: number): boolean {
    return this.#spent < this.#most && this.#spentInPass < passCap(this.#rows ?? this.#found, pageSize)
  }
}
