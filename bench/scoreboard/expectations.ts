import type { Night } from './score.ts'

/** On scenarios in their own scale: how the scan must end, and in how many of the loop's requests for pages at most. */
const EXPECTED: Record<string, { fromNight: number }> = {
  'hidden-order': { fromNight: 2 },
  'by-name-slow': { fromNight: 2 },
  'last-change': { fromNight: 2 },
}
const MOST_TIMES = 1.7
const GOOD_ENDS: ReadonlySet<string> = new Set(['proven', 'settled'])

/** A night of the scan, and how many times the loop's requests for pages it took. */
export type Price = { night: number; word: string; times: number }

export type Expectation = { fromNight: number; prices: readonly Price[]; shortfalls: readonly string[] }

/** What was expected of the scan in a scenario, and where it fell short; undefined where nothing more is expected. */
export function expectationOf(
  scenario: string,
  { loop, scan }: { loop: readonly Night[]; scan: readonly Night[] },
): Expectation | undefined {
  const expected = EXPECTED[scenario]
  if (expected === undefined) return undefined
  const prices = scan.map((night): Price => {
    const plain = loop.find((other) => other.night === night.night)?.pages ?? 0
    return { night: night.night, word: night.said.word, times: night.pages / Math.max(1, plain) }
  })
  return { ...expected, prices, shortfalls: prices.flatMap((price) => shortfall(price, expected.fromNight)) }
}

function shortfall({ night, word, times }: Price, fromNight: number): string[] {
  if (night < fromNight) return []
  const words = `night ${night} (${word})`
  return [
    ...(GOOD_ENDS.has(word) ? [] : [`${words}: neither proven nor settled`]),
    ...(times > MOST_TIMES ? [`${words}: ${times.toFixed(2)} times the plain requests, more than ${MOST_TIMES}`] : []),
  ]
}

/** E.g. `by-name-slow: settled at 1.38, settled at 1.37 times the plain requests, searches aside, on nights 1 to 4`. */
export function priceList(scenario: string, { prices, fromNight }: Expectation): string {
  const each = prices.map(({ word, times }) => `${word} at ${times.toFixed(2)}`).join(', ')
  return `${scenario}: ${each} times the plain requests, night by night (at most ${MOST_TIMES} from night ${fromNight} on)`
}
