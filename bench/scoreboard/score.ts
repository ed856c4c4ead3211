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
