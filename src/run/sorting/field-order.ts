/** What of a value is compared, worked out once for each. */
type Keys = {
  value: string
  lowerCase: string
  words: number
  /** A list of full names may be sorted by surname, and one of addresses by what follows the @. */
  afterFirstWord: string
  lastWord: string
  number: number
}

/** How two values compare: below 0 when the first stands before the second; undefined where it says nothing about them. */
type Compare = (one: Keys, other: Keys) => number | undefined

/** How often different values followed each other that can be compared, and how often the second was greater and smaller. */
type Steps = { compared: number; up: number; down: number }

/** Services sort in ways of their own: a list sorted in one of them is nearly sorted in one of these, upward or downward. */
const COMPARISONS: readonly Compare[] = [
  (one, other) => plainly(one.value, other.value),
  (one, other) => plainly(one.lowerCase, other.lowerCase),
  (one, other) => compare(one.value, other.value),
  (one, other) => (haveWords(one, other) ? compare(one.afterFirstWord, other.afterFirstWord) : undefined),
  (one, other) => (haveWords(one, other) ? compare(one.lastWord, other.lastWord) : undefined),
  (one, other) => (Number.isNaN(one.number - other.number) ? undefined : one.number - other.number),
]

function keysOf(value: string): Keys {
  // Most values are one word, and to split those too makes much garbage.
  const others = BETWEEN_WORDS.test(value) ? value.split(BETWEEN_WORDS).slice(1) : []
  return {
    value,
    lowerCase: value.toLowerCase(),
    words: 1 + others.length,
    afterFirstWord: others.join(' '),
    lastWord: others.at(-1) ?? value,
    number: NUMBER.test(value) ? Number(value) : Number.NaN,
  }
}

const BETWEEN_WORDS = /[\s@]+/

function haveWords(one: Keys, other: Keys): boolean {
  return one.words + other.words > 2
}

const NUMBER = /^-?\d{1,15}(\.\d{1,15})?$/

let alphabet: Intl.Collator | undefined

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

/** So many values would be met again after another one, in a random order, before it says something that fewer are. */
const ENOUGH_EXPECTED = 10

/**
 * Whether the values of one field are sorted, in any of the usual ways. A missing value counts as an empty one. A service that sorts by a
 * number in place of the value, such as that of the company, shows equal values together, in no order.
 */
export class FieldOrder {
  readonly #steps: Steps[] = COMPARISONS.map(() => ({ compared: 0, up: 0, down: 0 }))
  readonly #firsts: { start: number; keys: Keys }[] = []
  readonly #values = new Set<string>()
  /** How often a value was met again on a page after another one: then equal values do not stand together. */
  #apart = 0
  /** The same for values as they are, on all pages, and how often it were so if each page were in a random order. */
  readonly #again = { apart: 0, expected: 0 }

  /** The values of a page, in order; `start` is the position of the first. */
  observe(sent: readonly unknown[], start: number): void {
    const values = sent.map(textOf)
    const [first] = values
    if (first === undefined) return
    if (!this.#hasEnoughSteps) this.#apart += repeatsIn(values.map(folded)).apart
    let before = keysOf(first)
    this.#firsts.push({ start, keys: before })
    const { apart, expected } = repeatsIn(values)
    this.#again.apart += apart
    this.#again.expected += expected
    for (const value of values) {
      if (value === before.value) continue
      const keys = keysOf(value)
      count(this.#steps, before, keys)
      before = keys
    }
    for (const value of values) if (this.#values.size <= FEW_VALUES) this.#values.add(value)
  }

  get mayBeSorted(): boolean {
    const steps = this.#steps.map((of) => ({ ...of }))
    const firsts = this.#firsts.toSorted((one, other) => one.start - other.start)
    for (const [at, { keys }] of firsts.entries()) {
      const next = firsts[at + 1]?.keys ?? keys
      if (next.value !== keys.value) count(steps, keys, next)
    }
    const all = steps[0]?.compared ?? 0
    // One value throughout orders nothing: a customer who gets another one moves to an end of the list, and is noticed there.
    if (all === 0) return false
    const isSorted = ({ compared, up, down }: Steps) =>
      2 * compared >= all && Math.min(up, down) < RANDOM_SHARE * (up + down)
    if (steps.some(isSorted) || this.#standTogether) return true
    return all < ENOUGH_STEPS && this.#apart < (this.#values.size <= FEW_VALUES ? 1 : ENOUGH_APART)
  }

  get #standTogether(): boolean {
    const { apart, expected } = this.#again
    return expected >= ENOUGH_EXPECTED && apart < RANDOM_SHARE * expected
  }

  get #hasEnoughSteps(): boolean {
    return (this.#steps[0]?.compared ?? 0) >= ENOUGH_STEPS
  }
}

/** How often a value stands on a page again after another one, and how often it would in a random order. */
function repeatsIn(values: readonly string[]): { apart: number; expected: number } {
  const times = new Map<string, number>()
  let apart = 0
  let before: string | undefined
  for (const value of values) {
    const met = times.get(value) ?? 0
    if (met > 0 && value !== before) apart += 1
    times.set(value, met + 1)
    before = value
  }
  let expected = 0
  for (const met of times.values()) expected += (met - 1) * (1 - met / values.length)
  return { apart, expected }
}

function count(steps: readonly Steps[], before: Keys, value: Keys): void {
  // Without entries(): it makes two objects for each comparison.
  for (let index = 0; index < COMPARISONS.length; index += 1) {
    const order = COMPARISONS[index]?.(before, value)
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

/** At most so many characters of a value are compared. */
const LONGEST = 200

function textOf(value: unknown): string {
  if (typeof value === 'string') return value.slice(0, LONGEST)
  // No service sorts by lists, and the fields of objects have an order of their own.
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}

/** Texts that a service may take for equal are the same. */
function folded(text: string): string {
  return text
    .normalize('NFD')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase()
}
