/** How two texts compare: below 0 when the first stands before the second; undefined where it says nothing about them. */
type Compare = (one: string, other: string) => number | undefined

/** How often different values followed each other that can be compared, and how often the second was greater and smaller. */
type Steps = { compared: number; up: number; down: number }

/** Services sort in ways of their own: a list sorted in one of them is nearly sorted in one of these, upward or downward. */
let alphabet: Intl.Collator | undefined
const COMPARISONS: readonly Compare[] = [
  plainly,
  (one, other) => plainly(one.toLowerCase(), other.toLowerCase()),
  compare,
  // A list of full names may be sorted by surname, and one of addresses by what follows the @.
  (one, other) => byWords(one, other, (words) => words.slice(1).join(' ')),
  (one, other) => byWords(one, other, (words) => words.at(-1) ?? ''),
  (one, other) => (NUMBER.test(one) && NUMBER.test(other) ? Number(one) - Number(other) : undefined),
]
const NUMBER = /^-?\d{1,15}(\.\d{1,15})?$/

/** As dictionaries sort. The alphabet takes milliseconds to load, and a night at rest compares nothing. */
function compare(one: string, other: string): number {
  alphabet ??= new Intl.Collator('en', { sensitivity: 'base', ignorePunctuation: true })
  return alphabet.compare(one, other)
}

/** With a smaller share of steps against a direction, the values count as sorted: a random order has half of them. */
const RANDOM_SHARE = 0.2
/** So many steps decide; of fewer, equal values that stand apart do. */
const ENOUGH_STEPS = 50
const FEW_VALUES = 20
/** Values that stand apart, where there are many different ones: some may be equal to the service. */
const ENOUGH_APART = 3

/** Whether the values of one field are sorted, in any of the usual ways. A missing value counts as an empty one. */
export class FieldOrder {
  readonly #steps: Steps[] = COMPARISONS.map(() => ({ compared: 0, up: 0, down: 0 }))
  readonly #firsts: { start: number; value: string }[] = []
  readonly #values = new Set<string>()
  /** How often a value was met again on a page after another one: then equal values do not stand together. */
  #apart = 0

  /** The values of a page, in order; `start` is the position of the first. */
  observe(sent: readonly unknown[], start: number): void {
    const values = sent.map(textOf)
    const [first] = values
    if (first === undefined) return
    this.#firsts.push({ start, value: first })
    const left = new Set<string>()
    let [before, foldedBefore] = [first, folded(first)]
    for (const value of values) {
      if (value === before) continue
      count(this.#steps, before, value)
      left.add(foldedBefore)
      const foldedValue = folded(value)
      if (foldedValue !== foldedBefore && left.has(foldedValue)) this.#apart += 1
      ;[before, foldedBefore] = [value, foldedValue]
    }
    for (const value of values) if (this.#values.size <= FEW_VALUES) this.#values.add(value)
  }

  get mayBeSorted(): boolean {
    const steps = this.#steps.map((of) => ({ ...of }))
    const firsts = this.#firsts.toSorted((one, other) => one.start - other.start)
    for (const [at, { value }] of firsts.entries()) {
      const next = firsts[at + 1]?.value ?? value
      if (next !== value) count(steps, value, next)
    }
    const all = steps[0]?.compared ?? 0
    // One value throughout orders nothing: a customer who gets another one moves to an end of the list, and is noticed there.
    if (all === 0) return false
    const isSorted = ({ compared, up, down }: Steps) =>
      2 * compared >= all && Math.min(up, down) < RANDOM_SHARE * (up + down)
    if (steps.some(isSorted)) return true
    return all < ENOUGH_STEPS && this.#apart < (this.#values.size <= FEW_VALUES ? 1 : ENOUGH_APART)
  }
}

function count(steps: readonly Steps[], before: string, value: string): void {
  for (const [index, compared] of COMPARISONS.entries()) {
    const order = compared(before, value)
    const of = steps[index]
    if (of === undefined || order === undefined) continue
    of.compared += 1
    if (order < 0) of.up += 1
    if (order > 0) of.down += 1
  }
}

function plainly(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function byWords(one: string, other: string, key: (words: readonly string[]) => string): number | undefined {
  const [words, others] = [one.split(/[\s@]+/), other.split(/[\s@]+/)]
  return words.length + others.length > 2 ? compare(key(words), key(others)) : undefined
}

/** At most so many characters of a value are compared. */
const LONGEST = 200

function textOf(value: unknown): string {
  if (typeof value === 'string') return value.slice(0, LONGEST)
  // No service sorts by objects.
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}

/** Texts that a service may take for equal are the same. */
function folded(text: string): string {
  return text
    .normalize('NFD')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase()
}
