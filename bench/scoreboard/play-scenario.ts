import {
  type Contender,
  type OpenContender,
  type Organization,
  type PageRead,
  type Said,
  skippingClock,
  type Terms,
} from './contender.ts'
import { outOfReach } from './plain-loop.ts'
import type { Night } from './score.ts'
import { type Truth, watchTruth } from './truth.ts'
import { startSandbox } from '../../src/service/sandbox.ts'
import { scenarioNamed } from '../../src/service/scenarios/scenarios.ts'
import { DEFAULT_PRESET, HEADERS, recipeOf } from '../../src/signing/signing.ts'
import { RateLimit } from '../../src/source/rate-limit.ts'

export type PlaySettings = { customers?: number | undefined; seed: string; concurrency: number }

/** Lets a contender spend its nights with a scenario in a sandbox of its own, and notes how each of them went. */
export async function playScenario(name: string, open: OpenContender, settings: PlaySettings): Promise<Night[]> {
  const { seed, concurrency } = settings
  const { customers, requestsPerMinute } = scaleOf(name, settings)
  const clock = skippingClock(FIRST_NIGHT_MS)
  const answered: Answered[] = []
  const sandbox = await startSandbox({
    ...{ scenario: name, seed, now: clock.now, dripMs: 3 * REQUEST_TIMEOUT_MS },
    intercept: async (c, next) => {
      await next()
      answered.push({ apiKey: c.req.header(HEADERS.key), isSearch: Boolean(c.req.query('search')) })
    },
    // A shared limit needs a second organization.
    customers: scenarioNamed(name).service?.sharedRateLimit === undefined ? [customers] : [customers, customers],
  })
  const rateLimit = new RateLimit({ concurrency, requestsPerMinute, monotonicMs: clock.now, sleep: clock.sleep })
  const recipe = recipeOf(DEFAULT_PRESET)
  const pace = { concurrency, rateLimit, requestsPerMinute }
  const terms = { recipe, clock, requestTimeoutMs: REQUEST_TIMEOUT_MS, customers, ...pace }
  const seats: Seat[] = []
  try {
    for (const organization of sandbox.organizations) {
      const truth = watchTruth(organization, name)
      seats.push({ truth, answered, organization, terms, contender: await open(organization, terms) })
    }
    const nights: Night[] = []
    for (let night = 1; night <= NIGHTS && !seats.some(hasOvergrown); night += 1) {
      nights.push(...(await Promise.all(seats.map((seat) => spendNight(seat, night)))))
      clock.skip(DAY_MS)
    }
    return nights
  } finally {
    for (const { contender } of seats) await contender.close()
    await sandbox.close()
  }
}

/** The initial sync and three nights more: enough to be removed wrongly, and for it to show. */
export const NIGHTS = 4
const FIRST_NIGHT_MS = Date.UTC(2026, 0, 5, 2)
const DAY_MS = 86_400_000
/** For one request. What drips takes longer. */
const REQUEST_TIMEOUT_MS = 2000

/** Times as long as at first: a list that grows with every request would fill the memory in a few nights. */
const MOST_GROWTH = 10

/** A request that a sandbox has answered. */
type Answered = { apiKey: string | undefined; isSearch: boolean }

/** A contender at work on one organization. */
type Seat = {
  truth: Truth
  answered: readonly Answered[]
  organization: Organization
  terms: Terms
  contender: Contender
}

function hasOvergrown({ organization, terms }: Seat): boolean {
  return organization.list.rows().length > MOST_GROWTH * terms.customers
}

async function spendNight(seat: Seat, night: number): Promise<Night> {
  const { truth, answered, organization, contender } = seat
  const before = { active: contender.active(), answered: answered.length }
  const mark = truth.mark()
  let history: History | undefined
  const said = await contender.spendNight(() => {
    history ??= historySince(mark, truth)
  })
  history ??= historySince(mark, truth)
  const read = new Set(said.pages.flat())
  const owed = customersOwed(said, history, read)
  const active = contender.active()
  const listed = truth.listed()
  const requests = answered.slice(before.answered).filter(({ apiKey }) => apiKey === organization.apiKey)
  const absent = history.lived.difference(active)
  return {
    night,
    said,
    absent,
    excused: await excused(absent, said, seat, { owed, isLast: night === NIGHTS || hasOvergrown(seat) }),
    unread: owed.difference(read).size,
    wronglyRemoved: before.active.difference(active).intersection(listed),
    requests: requests.length,
    pages: requests.filter(({ isSearch }) => !isSearch).length,
  }
}

type History = KeptPlaces & { lived: ReadonlySet<string> }

function historySince(mark: number, truth: Truth): History {
  return { lived: truth.lived(mark), stayed: truth.stayed(mark), moved: truth.moved(mark) }
}

/** The customers that must have been read, and must be in the copy, or the claim is false. */
function customersOwed(
  { claim, pages }: Said,
  { lived, ...places }: History,
  read: ReadonlySet<string>,
): ReadonlySet<string> {
  if (claim === 'settled') return owedBySettled(places, pages).union(lived.intersection(read))
  return claim === 'whole' ? lived : new Set()
}

/**
 * The absent customers that do not count against the contender. It must have reported that customers may be missing: then a later
 * night can make up for it, and after the last one reported holes and customers that are never sent do not count.
 */
async function excused(
  absent: Night['absent'],
  said: Night['said'],
  { organization, terms }: Seat,
  { owed, isLast }: { owed: ReadonlySet<string>; isLast: boolean },
): Promise<Night['excused']> {
  if (said.claim === 'whole' || said.claim === 'settled') return absent.difference(owed)
  if (!isLast) return absent
  const rows = organization.list.rows()
  const inHoles = said.holes.flatMap(({ position, size }) => rows.slice(position, position + size))
  const known = absent.intersection(new Set(inHoles.map(({ id }) => id)))
  return known.union(await outOfReach(absent.difference(known), { organization, terms }))
}

type KeptPlaces = {
  /** The customers listed from the first request to the last answer who kept their places among one another, in that order. */
  stayed: ReadonlySet<string>
  /** Those who moved meanwhile; customers who came or left need not have. */
  moved: ReadonlySet<string>
}

/**
 * The customers that a settled scan must have read: those who stayed. With all others left out, every page is a piece of one sequence
 * that never changes, and two pages that share a customer who did not move leave no gap in it. So a customer who stayed may be
 * unread only between two pages whose shared customers all moved.
 */
function owedBySettled({ stayed, moved }: KeptPlaces, pages: readonly PageRead[]): ReadonlySet<string> {
  const unread = stayed.difference(new Set(pages.flat()))
  if (unread.size === 0) return stayed
  const ranks = new Map([...stayed].map((id, rank) => [id, rank]))
  const seams = seamsOfMoved(pages, moved, ranks)
  return new Set([...stayed].filter((id) => !unread.has(id) || !seams.some(between(ranks.get(id) ?? 0))))
}

/** The places, among those who stayed, of the customers on a page; without any of them the page may stand anywhere. */
type Piece = { first: number; last: number }

type Seam = { one: Piece; other: Piece }

/** Pairs of pages that share two customers or more, and each of these moved. */
function seamsOfMoved(
  pages: readonly PageRead[],
  moved: ReadonlySet<string>,
  ranks: ReadonlyMap<string, number>,
): Seam[] {
  const sets = pages.map((page) => new Set(page))
  const pieces = pages.map((page) => pieceOf(page, ranks))
  const seams: Seam[] = []
  for (const [index, set] of sets.entries()) {
    const movedHere = set.intersection(moved)
    if (movedHere.size < 2) continue
    for (const [before, earlier] of sets.slice(0, index).entries()) {
      if (movedHere.intersection(earlier).size < 2) continue
      const [one, other] = [pieces[before], pieces[index]]
      if (one !== undefined && other !== undefined && set.intersection(earlier).isSubsetOf(moved))
        seams.push({ one, other })
    }
  }
  return seams
}

function pieceOf(page: PageRead, ranks: ReadonlyMap<string, number>): Piece {
  const places = page.flatMap((id) => ranks.get(id) ?? [])
  return { first: Math.min(...places), last: Math.max(...places) }
}

/** A page without any who stayed has its first place at infinity and its last before all: it bounds a gap on either side. */
function between(rank: number): (seam: Seam) => boolean {
  return ({ one, other }) => (one.last < rank && rank < other.first) || (other.last < rank && rank < one.first)
}

/** How long the list of a scenario is, and the pace that both contenders keep. */
export type Scale = { customers: number; requestsPerMinute?: number }

/** The scale of a scenario, with as many customers as were asked for, if a number was. */
export function scaleOf(scenario: string, { customers }: { customers?: number | undefined }): Scale {
  const usual = SCALES[scenario] ?? { customers: USUAL_CUSTOMERS }
  return customers === undefined ? usual : { ...usual, customers }
}

const USUAL_CUSTOMERS = 1050

/** Scenarios that are about long lists, or a slow service. */
const SCALES: Record<string, Scale> = {
  'import-of-one-second': { customers: 50_000 },
  'hidden-order': { customers: 20_000 },
  'by-name-slow': { customers: 50_000, requestsPerMinute: 60 },
  'last-change': { customers: 50_000 },
  'capped-total': { customers: 1500 },
}
