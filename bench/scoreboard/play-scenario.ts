import { startSandbox, type Mark, type Sandbox, type Truth } from '../../src/service/sandbox.ts'
import { scenarioNamed } from '../../src/service/scenarios/scenarios.ts'
import { RateLimit } from '../../src/source/rate-limit.ts'
import type { Contender, OpenContender, Organization, Said, Terms } from './contender.ts'
import { type KeptPlaces, owedBySettled } from './kept-places.ts'
import { outOfReach } from './out-of-reach.ts'
import type { Night } from './score.ts'
import { scaleOf } from './scale.ts'
import { skippingClock } from './skipping-clock.ts'

export type PlaySettings = { customers?: number | undefined; seed: string; concurrency: number }

/** Lets a contender spend its nights with a scenario in a sandbox of its own, and notes how each of them went. */
export async function playScenario(name: string, open: OpenContender, settings: PlaySettings): Promise<Night[]> {
  const { seed, concurrency } = settings
  const { customers, requestsPerMinute } = scaleOf(name, settings)
  const clock = skippingClock(FIRST_NIGHT_MS)
  const sandbox = await startSandbox({
    ...{ scenario: name, customers, seed, now: clock.now, dripMs: 3 * REQUEST_TIMEOUT_MS },
    // A shared limit needs a second organization.
    organizations: scenarioNamed(name).service?.sharedRateLimit === undefined ? 1 : 2,
  })
  const rateLimit = new RateLimit({ concurrency, requestsPerMinute, monotonicMs: clock.now, sleep: clock.sleep })
  const { recipe } = sandbox
  const pace = { concurrency, rateLimit, requestsPerMinute }
  const terms = { recipe, clock, requestTimeoutMs: REQUEST_TIMEOUT_MS, customers, ...pace }
  const seats: Seat[] = []
  try {
    for (const organization of sandbox.organizations) {
      seats.push({ sandbox, organization, terms, contender: await open(organization, terms) })
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

/** A contender at work on one organization. */
type Seat = { sandbox: Sandbox; organization: Organization; terms: Terms; contender: Contender }

function hasOvergrown({ sandbox, organization, terms }: Seat): boolean {
  return sandbox.organization(organization.id).customers.length > MOST_GROWTH * terms.customers
}

async function spendNight(seat: Seat, night: number): Promise<Night> {
  const { sandbox, organization, contender } = seat
  const truth = sandbox.truth(organization.id)
  const hand = sandbox.organization(organization.id)
  const before = { active: contender.active(), requests: hand.requests.length }
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
  const requests = hand.requests.slice(before.requests)
  const absent = history.lived.difference(active)
  return {
    night,
    said,
    absent,
    excused: await excused(absent, said, seat, { owed, isLast: night === NIGHTS || hasOvergrown(seat) }),
    unread: owed.difference(read).size,
    wronglyRemoved: before.active.difference(active).intersection(listed),
    requests: requests.length,
    pages: requests.filter(({ search }) => search === '').length,
  }
}

type History = KeptPlaces & { lived: ReadonlySet<string> }

function historySince(mark: Mark, truth: Truth): History {
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
  { sandbox, organization, terms }: Seat,
  { owed, isLast }: { owed: ReadonlySet<string>; isLast: boolean },
): Promise<Night['excused']> {
  if (said.claim === 'whole' || said.claim === 'settled') return absent.difference(owed)
  if (!isLast) return absent
  const hand = sandbox.organization(organization.id)
  const inHoles = said.holes.flatMap(({ position, size }) => hand.customers.slice(position, position + size))
  const known = absent.intersection(new Set(inHoles.map(({ id }) => id)))
  return known.union(await outOfReach(absent.difference(known), { organization, hand, terms }))
}
