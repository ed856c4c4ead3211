import type { Said } from './contender.ts'

/** The result of a night with one organization, compared with the true list. */
export type Night = {
  /** From 1. */
  night: number
  said: Said
  /** Listed from before the first request until the list was read, and not active in the copy afterwards. */
  absent: ReadonlySet<string>
  /** Those of the absent whom the contender said it may lack, and could not have had, or has another night for. */
  excused: ReadonlySet<string>
  /** How many are on no page the contender took, although by its claim it has read them. */
  unread: number
  /** Active in the copy before, no more afterwards, and listed at that moment. */
  wronglyRemoved: ReadonlySet<string>
  /** Searches included. */
  requests: number
  /** The requests for pages of the list. */
  pages: number
}

/** All nights of a contender with a scenario. Customers count once, however many nights they were lost. */
export type Score = {
  lost: number
  wronglyRemoved: number
  /** Absent and excused. */
  missingAsSaid: number
  requests: number
  /** The most in one night. */
  holes: number
  claims: readonly Claim[]
  /** A customer was lost or wrongly removed on a night that ended in success, or in a proof. */
  deceived: boolean
  /** Everything that must never happen to a contender that proves its reading, a sentence for each. */
  faults: readonly string[]
}

/** What was said, on how many nights, and every reason that was given. */
type Claim = { word: string; times: number; reasons: readonly string[] }

export function scoreOf(nights: readonly Night[]): Score {
  return {
    lost: union(nights.map(lostIn)).size,
    wronglyRemoved: union(nights.map(({ wronglyRemoved }) => wronglyRemoved)).size,
    missingAsSaid: union(nights.map(({ excused }) => excused)).size,
    requests: nights.reduce((sum, { requests }) => sum + requests, 0),
    holes: Math.max(0, ...nights.map(({ said }) => said.holes.reduce((sum, { size }) => sum + size, 0))),
    claims: claimsOf(nights),
    deceived: nights.some(
      (night) => CERTAIN.has(night.said.claim) && lostIn(night).size + night.wronglyRemoved.size > 0,
    ),
    faults: nights.flatMap(faultsOf),
  }
}

const CERTAIN: ReadonlySet<Said['claim']> = new Set(['whole', 'settled'])

function lostIn({ absent, excused }: Night): ReadonlySet<string> {
  return absent.difference(excused)
}

function claimsOf(nights: readonly Night[]): Claim[] {
  const byWord = Map.groupBy(nights, ({ said }) => said.word)
  return [...byWord].map(([word, same]) => ({
    word,
    times: same.length,
    reasons: [...new Set(same.flatMap(({ said }) => said.reasons))],
  }))
}

function faultsOf(night: Night): string[] {
  const { said, wronglyRemoved, unread } = night
  const lost = lostIn(night).size
  const words = `night ${night.night} (${said.word})`
  return [
    ...(lost > 0 ? [`${words}: ${counted(lost)} lost`] : []),
    ...(wronglyRemoved.size > 0 ? [`${words}: ${counted(wronglyRemoved.size)} removed though listed`] : []),
    ...(unread > 0 ? [`${words}: ${counted(unread)} never read`] : []),
    ...(said.isDefect ? [`${words}: a defect of its own, ${said.reasons.join(', ')}`] : []),
  ]
}

function counted(customers: number): string {
  return customers === 1 ? '1 customer' : `${customers} customers`
}

function union(sets: readonly ReadonlySet<string>[]): Set<string> {
  return sets.reduce<Set<string>>((all, set) => all.union(set), new Set())
}

/** How both contenders did with one scenario. */
export type Line = {
  scenario: string
  customers: number
  loop: Score
  scan: Score
  expectation: Expectation | undefined
}

/** A table in Markdown, with its columns aligned, so that it can be read as it is. */
export function scoreTable(lines: readonly Line[]): string {
  const rows = lines.map(({ scenario, customers, loop, scan }) => [
    `\`${scenario}\``,
    ...[customers.toLocaleString('en'), ...counts(loop), saying(loop)],
    ...[...counts(scan), `${(scan.requests / Math.max(1, loop.requests)).toFixed(2)} ×`, saying(scan)],
  ])
  const widths = HEAD.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const align = (row: readonly string[]): string => {
    const padded = row.map((cell, column) => {
      const width = widths[column] ?? 0
      return isNumeric(column) ? cell.padStart(width) : cell.padEnd(width)
    })
    return `| ${padded.join(' | ')} |`
  }
  const rule = widths.map((width, column) => (isNumeric(column) ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)))
  return [align(HEAD), align(rule), ...rows.map(align)].join('\n')
}

const HEAD = [
  ...['scenario', 'customers'],
  ...['loop: lost', 'wrongly removed', 'requests', 'it said'],
  ...['scan: lost', 'wrongly removed', 'requests', '× loop', 'it said'],
]

const TEXTS: ReadonlySet<string> = new Set(['scenario', 'it said'])

function isNumeric(column: number): boolean {
  return !TEXTS.has(HEAD[column] ?? '')
}

function counts({ lost, wronglyRemoved, requests }: Score): string[] {
  return [lost, wronglyRemoved, requests].map((count) => count.toLocaleString('en'))
}

/** E.g. `1 × failed (bad-answer), 3 × proven; 400 missing as said`. */
function saying({ claims, holes, missingAsSaid }: Score): string {
  const said = claims.map(({ word, times, reasons }) => {
    const why = reasons.length > 0 ? ` (${reasons.join(', ')})` : ''
    return `${claims.length > 1 ? `${times} × ` : ''}${word}${why}`
  })
  const notes = [
    said.join(', '),
    ...(holes > 0 ? [`${holes} ${holes === 1 ? 'hole' : 'holes'}`] : []),
    ...(missingAsSaid > 0 ? [`${missingAsSaid.toLocaleString('en')} missing as said`] : []),
  ]
  return notes.join('; ')
}

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
