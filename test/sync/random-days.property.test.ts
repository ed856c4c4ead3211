import { expect, test } from 'vitest'
import { isOurs } from '../../src/errors/errors.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { privacyPolicy } from '../../src/privacy/privacy-policy.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { type Dice, dice as diceOf } from '../support/dice.ts'
import { type Churn, DATES, KnownList, ORDERS, type Person } from '../support/known-list.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { aMirror } from '../support/mirror-file.ts'
import { openReader } from '../support/mirror-reader.ts'
import { countTurns, PlayedTime, wireTo } from '../support/played-wire.ts'
import { RandomService, SEARCHES } from '../support/random-answers.ts'
import { seeds } from '../support/seeds.ts'
import { readKept, readStored, untrueAfterQuickRuns, untruthsOf, untruthsOfQuickRun } from '../support/untruths.ts'

/** Histories of some days each; a fiftieth of them in `npm test`. */
const HISTORIES = seeds(400, { least: 8, every: 50 })

test('over random days of services that change, fail and lie, the mirror and its reports contain nothing wrong', async () => {
  const endings = new Set<string>()
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    // A file of its own for each: readers look at all of it.
    const { untruths, statuses } = await playDays(await aMirror(), seed)
    expect({ seed, untruths }).toEqual({ seed, untruths: [] })
    for (const status of statuses) endings.add(status)
  }
  // What a server takes long for decides which day follows, and so whether a rare end is among a few histories.
  expect([...endings]).toEqual(expect.arrayContaining(onPostgres ? ENDINGS.slice(0, 1) : ENDINGS))
})

const ENDINGS = [
  ...['complete proven', 'complete unproven', 'failed unproven', 'interrupted unproven'].map((end) => `night ${end}`),
  ...['partial unproven', 'killed unproven'].map((end) => `quick ${end}`),
]

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const KEY = 'a made-up key of more than thirty-two characters'

/** A night that may be continued: since when its list was read, and how. */
type Night = {
  startTick: number
  endTick: number
  rootId: number | undefined
  isHonest: boolean
  hides: boolean
  isStatic: boolean
  newerThan: readonly Person[] | undefined
}

/**
 * Plays some days of one organization in virtual time, of a service and a list that a number decides: nights that read the list, and in most
 * histories quick runs between them, of which some are killed, stopped, or made while a night is interrupted. Returns what the mirror or a
 * report said that was not so, each with its run.
 */
async function playDays(mirror: Mirror, seed: number) {
  const dice = diceOf(seed)
  const organization = `d${seed}`
  const db = openReader(mirror.file)
  const pageSize = dice.pick([5, 10, 10, 12, 20, 25, 50, 100])
  const list = new KnownList(dice, seed, dice.pick(ORDERS), dice.chance(0.55) ? 'honest' : dice.pick(DATES))
  for (let made = dice.below(pageSize * (dice.chance(0.25) ? 30 : 8)); made > 0; made--) list.insert()
  const service = aService(list, dice)
  const hasQuickRuns = dice.chance(0.5)
  const isReplicated = !hasQuickRuns && dice.chance(0.2)
  const isJumpy = dice.chance(0.1)
  const privacy =
    hasQuickRuns && dice.chance(0.3) ? privacyPolicy({ drop: ['phone'], hash: ['email'], key: KEY }) : undefined
  const concurrency = 1 + dice.below(6)
  const removals = { after: 1 + dice.below(2), maxShare: dice.pick([0.1, 1]) }
  const time = new PlayedTime(Date.UTC(2026, 0, 5, 2) + dice.below(1000), dice)
  const nights = new Map<number | undefined, Night>()
  const untruths: string[] = []
  const statuses: string[] = []

  for (let turn = 1, turns = 3 + dice.below(hasQuickRuns ? 10 : 4); turn <= turns; turn++) {
    const isPartial = hasQuickRuns && turn > 1 && dice.chance(0.65)
    list.second += 5000
    if (turn > 1) passHours(list, dice, { mayComeBack: !isReplicated })
    const churn = isReplicated ? {} : randomChurn(dice)
    service.plan(dice, turn)
    service.replica = isReplicated && turn > 1 && dice.chance(0.6) ? (service.replica ?? service.copy()) : undefined
    service.hidden = new Set(
      !hasQuickRuns && !isReplicated && dice.chance(0.05) ? list.listed.filter(() => dice.chance(0.2)) : [],
    )
    service.search = service.hidden.size > 0 || dice.chance(0.4) ? 'works' : dice.pick(SEARCHES)
    const stop = new AbortController()
    const stopAfter = dice.chance(0.12) ? 1 + dice.below(12) : Infinity
    const moved = () => {
      time.pass({ isJumpy })
      list.stir(churn)
      if (service.answers >= stopAfter) stop.abort()
    }
    let sent = 0
    const answer: Parameters<typeof wireTo>[0] = (asked) => {
      sent += 1
      return service.answer(asked, time.trueMs)
    }
    const connections = wireTo(answer, moved, dice)
    const source = time.openSource({ concurrency, connections })
    const [before, kept, startTick] = [readStored(db, organization), readKept(db, organization), list.tick]
    const maxRequests = 3 + dice.below(40)
    const isKilled = hasQuickRuns && dice.chance(0.08)
    const putBack = countTurns()
    const outcome = await mirrorOrganization({
      ...time.clocks,
      ...{ organization, source, concurrency, removals, pageSize, privacy, trigger: 'sync', signal: stop.signal },
      mirror: isKilled ? killedAfter(mirror, 1 + dice.below(4)) : mirror,
      requestLimit: isPartial ? { requests: maxRequests } : undefined,
      scan: dice.chance(0.05) ? 'plain' : 'chain',
      resumeWithinMs: 6 * HOUR_MS,
      maxRunMs: !isPartial && dice.chance(0.05) ? 500 + dice.below(5000) : undefined,
    }).finally(putBack)
    source.close()
    const { report } = outcome
    const run = { outcome, list, before, after: readStored(db, organization), startTick, endTick: list.tick }
    const isStill = Object.keys(churn).length === 0
    statuses.push(`${isPartial ? 'quick' : 'night'} ${isKilled ? 'killed' : report.status} ${report.proof}`)
    const found: string[] = []
    if (isPartial) {
      const keeps = { pageSize, kept, keptNow: readKept(db, organization), maxRequests, sent }
      const trust = { isHonest: service.used.size === 0, isStatic: list.tick === startTick + service.answers }
      found.push(...untruthsOfQuickRun({ ...run, ...keeps, ...trust, isKilled }))
    } else {
      const from = nights.get(report.resumedFrom ?? 0)
      const night: Night = {
        startTick: from?.startTick ?? startTick,
        ...{ endTick: list.tick, rootId: from?.rootId ?? report.runId },
        isHonest: service.hidden.size === 0 && service.replica === undefined && from?.isHonest !== false,
        hides: from?.hides === true || service.hidden.size > 0,
        isStatic: isStill && (from === undefined || (from.isStatic && from.endTick === startTick)),
        newerThan: service.replica?.people ?? from?.newerThan,
      }
      nights.set(report.runId, night)
      const isHidden = from?.hides === true || (service.hidden.size > 0 && !isStill)
      if (!isKilled) found.push(...untruthsOf({ ...run, ...night, isHidden }))
      if (!isKilled) found.push(...untrueAfterQuickRuns({ ...run, since: from?.rootId }))
    }
    if (privacy !== undefined && [...run.after.customers.values()].some(({ email }) => String(email).includes('@')))
      found.push('an e-mail address is stored as sent')
    const told = {
      order: list.order,
      dates: list.dates,
      pageSize,
      maxRequests,
      isKilled,
      churn,
      used: [...service.used],
    }
    untruths.push(
      ...found.map((untruth) => `turn ${turn}, ${statuses.at(-1)}: ${untruth} ${JSON.stringify({ ...told, report })}`),
    )
    const now = { nowMs: time.clocks.now(), monotonicMs: time.trueMs }
    if (hasQuickRuns && dice.chance(0.1)) await forgetOne(mirror, organization, list, now)
    for (const { runId, organization: held } of await mirror.listHeldRemovals())
      if (held === organization && dice.chance(0.3)) await mirror.discardRemovals(runId)
    const pauses = hasQuickRuns ? [1, 15, 15, 8 * 60] : report.status === 'complete' ? [30, 24 * 60] : [10, 10, 24 * 60]
    time.trueMs += isKilled ? 2 * MINUTE_MS : dice.pick(pauses) * MINUTE_MS
  }
  db.close()
  return { untruths, statuses }
}

function aService(list: KnownList, dice: Dice): RandomService {
  const service = new RandomService(list, dice)
  service.beyondEnd = dice.pick(['empty', 'empty', 'empty', '404', 'clamp'])
  if (dice.chance(0.2)) service.cap = dice.pick([5, 10, 15, 30, 50])
  service.sendsDate = dice.chance(0.9)
  service.skewMs = dice.chance(0.7) ? 0 : (dice.below(1200) - 600) * 1000
  service.cacheSays = service.sendsDate ? dice.pick(['Age', 'Date', 'both']) : 'Age'
  return service
}

/** Forgets a customer. The service goes on listing it, and the mirror must not have it from now on. */
async function forgetOne(
  mirror: Mirror,
  organization: string,
  list: KnownList,
  now: { nowMs: number; monotonicMs: number },
) {
  const person = list.listed[list.dice.below(list.listed.length)]
  if (person === undefined) return
  try {
    await mirror.forgetCustomer({ organization, id: person.id, ...now })
    list.forget(person)
  } catch (error) {
    if (!isOurs(error)) throw error
  }
}

/** A mirror of a process that is killed after so many saves: from then on nothing is written, not even the end of the run. */
function killedAfter(mirror: Mirror, saves: number): Mirror {
  let left = saves
  const dead = () => Promise.reject(new Error('killed'))
  return {
    ...mirror,
    savePages: (...args) => (left-- > 0 ? mirror.savePages(...args) : dead()),
    finishRun: (...args) => (left-- > 0 && args[1].status !== 'failed' ? mirror.finishRun(...args) : dead()),
    renewLease: (...args) => (left > 0 ? mirror.renewLease(...args) : dead()),
  }
}

function passHours(list: KnownList, dice: Dice, { mayComeBack }: { mayComeBack: boolean }): void {
  const comeBack = mayComeBack ? 0.1 : 0
  const churn: Churn = dice.chance(0.4) ? {} : { insert: 0.3, delete: 0.3, change: 0.3, comeBack, odd: 0.04 }
  for (let more = dice.below(12); more > 0; more--) list.stir(churn)
  if (dice.chance(0.04)) list.stir({ purge: 1 })
}

function randomChurn(dice: Dice): Churn {
  if (dice.chance(0.5)) return {}
  const rate = () => (dice.chance(0.5) ? 0 : dice.next() ** 3 * 0.5)
  const bulk = () => (dice.chance(0.2) ? 0.05 : 0)
  const churn = { insert: rate(), delete: rate(), change: rate(), purge: bulk(), push: bulk(), comeBack: rate() / 3 }
  return Object.fromEntries(Object.entries(churn).filter(([, chance]) => chance > 0))
}
