import type { Night } from './score.ts'

/** Scenarios in which each night, the first included, must end well at a price; they are judged in their own scale only. */
const PRICED: ReadonlySet<string> = new Set(['hidden-order', 'by-name-slow', 'last-change'])
const MOST_TIMES = 1.7
const GOOD_ENDS: ReadonlySet<string> = new Set(['proven', 'settled'])

/** A night of the scan, and how many times the loop's requests for pages it took; searches do not count. */
type Price = { night: number; word: string; times: number }

export type Expectation = { prices: readonly Price[]; shortfalls: readonly string[] }

/** What the scan asked for night by night, and where it fell short of what is expected; undefined where nothing more is. */
export function expectationOf(
  scenario: string,
  { loop, scan }: { loop: readonly Night[]; scan: readonly Night[] },
): Expectation | undefined {
  if (!PRICED.has(scenario)) return undefined
  const prices = scan.map((night): Price => {
    const plain = loop.find((other) => other.night === night.night)?.pages ?? 0
    return { night: night.night, word: night.said.word, times: night.pages / Math.max(1, plain) }
  })
  return { prices, shortfalls: prices.flatMap(shortfall) }
}

function shortfall({ night, word, times }: Price): string[] {
  const words = `night ${night} (${word})`
  return [
    ...(GOOD_ENDS.has(word) ? [] : [`${words}: neither proven nor settled`]),
    ...(times > MOST_TIMES ? [`${words}: ${times.toFixed(2)} times the plain requests, more than ${MOST_TIMES}`] : []),
  ]
}

/** E.g. `by-name-slow: settled at 1.19, settled at 1.20 times the plain requests, night by night (at most 1.7)`. */
export function priceList(scenario: string, { prices }: Expectation): string {
  const each = prices.map(({ word, times }) => `${word} at ${times.toFixed(2)}`).join(', ')
  return `${scenario}: ${each} times the plain requests, night by night (at most ${MOST_TIMES})`
}
