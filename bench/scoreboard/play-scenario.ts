import { startSandbox, type Sandbox } from '../../src/service/sandbox.ts'
import { scenarioNamed } from '../../src/service/scenarios/scenarios.ts'
import { createRateLimit } from '../../src/source/rate-limit.ts'
import type { Contender, OpenContender, Organization, Terms } from './contender.ts'
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
  const rateLimit = createRateLimit({ concurrency, requestsPerMinute, monotonicMs: clock.now, sleep: clock.sleep })
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
  let lived: ReadonlySet<string> | undefined
  const said = await contender.spendNight(() => {
    lived ??= truth.lived(mark)
  })
  lived ??= truth.lived(mark)
  const active = contender.active()
  const listed = truth.listed()
  const requests = hand.requests.length - before.requests
  const absent = lived.difference(active)
  return {
    night,
    said,
    absent,
    excused: await excused(absent, said, seat, { isLast: night === NIGHTS || hasOvergrown(seat) }),
    unread: lived.difference(said.read).size,
    wronglyRemoved: before.active.difference(active).intersection(listed),
    requests,
  }
}

/**
 * The absent customers that do not count against the contender. It must have reported that customers may be missing: then a later
 * night can make up for a failure, and reported holes and customers that are never sent do not count.
 */
async function excused(
  absent: Night['absent'],
  said: Night['said'],
  { sandbox, organization, terms }: Seat,
  { isLast }: { isLast: boolean },
): Promise<Night['excused']> {
  if (said.claim === 'whole') return new Set()
  if (said.claim === 'failed' && !isLast) return absent
  const hand = sandbox.organization(organization.id)
  const inHoles = said.holes.flatMap(({ position, size }) => hand.customers.slice(position, position + size))
  const known = absent.intersection(new Set(inHoles.map(({ id }) => id)))
  return known.union(await outOfReach(absent.difference(known), { organization, hand, terms }))
}
