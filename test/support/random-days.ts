import { isOurs } from '../../src/errors/errors.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { privacyPolicy } from '../../src/privacy/privacy-policy.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { type Dice, dice as diceOf } from './dice.ts'
import { type Churn, DATES, KnownList, ORDERS } from './known-list.ts'
import { openReader } from './mirror-reader.ts'
import { countTurns, PlayedTime } from './played-time.ts'
import { RandomService, SEARCHES } from './random-answers.ts'
import { wireTo } from './random-wire.ts'
import { readKept, readStored, untrueAfterQuickRuns, untruthsOf, untruthsOfQuickRun, type Watched } from './untruths.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const KEY = 'a made-up key of more than thirty-two characters'

/**
 * Plays some days of one organization, with nights that read its list and quick runs between them, some of which are killed, stopped or
 * made while a night is interrupted. Returns what the mirror or a report said that was not so, each with its run.
 */
export async function playDays(mirror: Mirror, seed: number, trace: (line: string) => void = () => {}) {
  const dice = diceOf(seed)
  const organization = `d${seed}`
  const db = openReader(mirror.file)
  const pageSize = dice.pick([5, 10, 10, 20, 25, 100])
  const list = new KnownList(dice, seed, dice.pick(ORDERS), dice.chance(0.6) ? 'honest' : dice.pick(DATES))
  for (let made = dice.below(pageSize * (dice.chance(0.3) ? 30 : 8)); made > 0; made--) list.insert()
  const service = new RandomService(list, dice)
  service.beyondEnd = dice.pick(['empty', 'empty', '404', 'clamp'])
  if (dice.chance(0.2)) service.cap = dice.pick([5, 10, 15, 30, 50])
  const faulty = dice.chance(0.5) ? 0.5 : 0
  const isJumpy = dice.chance(0.1)
  const privacy = dice.chance(0.3) ? privacyPolicy({ drop: ['phone'], hash: ['email'], key: KEY }) : undefined
  const concurrency = 1 + dice.below(6)
  const removals = { after: 1 + dice.below(2), maxShare: dice.pick([0.1, 1]) }
  const time = new PlayedTime(Date.UTC(2026, 0, 5, 2) + dice.below(1000), dice)
  /** When the scan of each night began, and what the night began with. */
  const scans = new Map<number | undefined, { startTick: number; rootId: number | undefined }>()
  const untruths: string[] = []
  const statuses: string[] = []

  for (let turn = 1, turns = 4 + dice.below(10); turn <= turns; turn++) {
    const isQuick = turn > 1 && dice.chance(0.65)
    list.second += 5000
    if (turn > 1) passHours(list, dice)
    const churn = randomChurn(dice)
    service.plan(dice, turn)
    service.cacheChance = faulty > 0 && turn > 1 && dice.chance(0.1) ? 0.3 : 0
    if (dice.chance(1 - faulty)) service.faults = []
    service.search = dice.chance(0.6) ? 'works' : dice.pick(SEARCHES)
    const stop = new AbortController()
    const stopAfter = dice.chance(0.15) ? 1 + dice.below(10) : Infinity
    const moved = () => {
      time.pass({ isJumpy })
      list.stir(churn)
      if (service.answers >= stopAfter) stop.abort()
    }
    const { clocks } = time
    let sent = 0
    const answer: Parameters<typeof wireTo>[0] = (asked) => {
      sent += 1
      return service.answer(asked, time.trueMs)
    }
    const source = time.openSource({ concurrency, connections: wireTo(answer, moved, dice) })
    const before = readStored(db, organization)
    const kept = readKept(db, organization)
    const startTick = list.tick
    const maxRequests = 3 + dice.below(40)
    const isKilled = dice.chance(0.08)
    const putBack = countTurns()
    const outcome = await mirrorOrganization({
      ...clocks,
      ...{ organization, source, concurrency, removals, pageSize, trigger: 'sync', signal: stop.signal },
      mirror: isKilled ? killedAfter(mirror, 1 + dice.below(4)) : mirror,
      quick: isQuick ? { requests: maxRequests } : undefined,
      scan: dice.chance(0.05) ? 'plain' : 'chain',
      resumeWithinMs: 6 * HOUR_MS,
      privacy,
    }).finally(putBack)
    source.close()
    const { report } = outcome
    const after = readStored(db, organization)
    const told = { report, pageSize, maxRequests, isKilled, churn, used: [...service.used] }
    const line = `${turn} ${isQuick ? 'quick' : 'night'} ${list.order} ${list.dates} ${JSON.stringify(told)}`
    trace(line)
    statuses.push(`${isQuick ? 'quick' : 'night'} ${isKilled ? 'killed' : report.status} ${report.proof}`)
    if (isQuick) {
      const isHonest = service.used.size === 0
      const watched = { outcome, list, startTick, endTick: list.tick, before, after, isKilled, isHonest }
      const checks = { ...watched, isStatic: list.tick === startTick + service.answers, maxRequests }
      const keptNow = readKept(db, organization)
      untruths.push(
        ...untruthsOfQuickRun({ ...checks, sent, pageSize, kept, keptNow }).map(
          (untruth) => `seed ${seed}, turn ${turn}, quick: ${untruth} (${line})`,
        ),
      )
    } else {
      const from = scans.get(report.resumedFrom ?? 0)
      scans.set(report.runId, from ?? { startTick, rootId: report.runId })
      const isStatic = Object.keys(churn).length === 0 && report.resumedFrom === undefined
      const watched: Watched = {
        ...{ outcome, list, before, after, isStatic, newerThan: undefined },
        ...{ isHonest: true, isHidden: false },
        startTick: from?.startTick ?? startTick,
        endTick: list.tick,
      }
      const own = { ...watched, startTick, since: from?.rootId }
      if (!isKilled)
        untruths.push(
          ...[...untruthsOf(watched), ...untrueAfterQuickRuns(own)].map(
            (untruth) => `seed ${seed}, turn ${turn}, night: ${untruth} (${line})`,
          ),
        )
    }
    if (privacy !== undefined && [...after.customers.values()].some(({ email }) => String(email).includes('@')))
      untruths.push(`seed ${seed}, turn ${turn}: an e-mail address is stored as sent`)
    if (dice.chance(0.1)) await forgetOne(mirror, organization, list, { nowMs: clocks.now(), monotonicMs: time.trueMs })
    for (const { runId, organization: held } of await mirror.listHeldRemovals())
      if (held === organization && dice.chance(0.3)) await mirror.discardRemovals(runId)
    time.trueMs += isKilled ? 2 * MINUTE_MS : dice.pick([MINUTE_MS, 15 * MINUTE_MS, 15 * MINUTE_MS, 8 * HOUR_MS])
  }
  db.close()
  return { untruths, statuses }
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
  const isForgotten = await mirror.forgetCustomer({ organization, id: person.id, ...now }).then(
    () => true,
    (error: unknown) => {
      if (isOurs(error)) return false
      throw error
    },
  )
  if (isForgotten) list.forget(person)
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

function passHours(list: KnownList, dice: Dice): void {
  const churn: Churn = dice.chance(0.3) ? {} : { insert: 0.3, delete: 0.3, change: 0.3, comeBack: 0.1, odd: 0.03 }
  for (let more = dice.below(12); more > 0; more--) list.stir(churn)
  if (dice.chance(0.03)) list.stir({ purge: 1 })
}

function randomChurn(dice: Dice): Churn {
  if (dice.chance(0.6)) return {}
  const rate = () => (dice.chance(0.5) ? 0 : dice.next() ** 3 * 0.5)
  const churn = { insert: rate(), delete: rate(), change: rate(), comeBack: rate() / 3 }
  return Object.fromEntries(Object.entries(churn).filter(([, chance]) => chance > 0))
}
