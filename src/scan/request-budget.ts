import { passCap } from './planner.ts'

/** How much a scan may ask for: so many requests in all, and in each pass what an honest one over its rows needs. */
export class RequestBudget {
  readonly #most: number
  #spent = 0
  #spentInPass = 0
  /** The total the pass began with: a service that raises it at every answer does not raise what may be asked for. */
  #rows: number | undefined

  constructor(most: number) {
    this.#most = most
  }

  /** A pass over `rows` begins; undefined where its first answer is to say how many they are. */
  startPass(rows: number | undefined): void {
    this.#spentInPass = 0
    this.#rows = rows
  }

  answered(total: number | undefined): void {
    this.#rows ??= total
  }

  spend(): void {
    this.#spent += 1
    this.#spentInPass += 1
  }

  allowsOneMore(pageSize: number): boolean {
    return this.#spent < this.#most && this.#spentInPass < passCap(this.#rows ?? 0, pageSize)
  }
}
