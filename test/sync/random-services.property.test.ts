import { expect, test } from 'vitest'
import type { Mirror } from '../../src/model/mirror.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { type Dice, dice as diceOf } from '../support/dice.ts'
import { type Churn, DATES, KnownList, ORDERS } from '../support/known-list.ts'
import { aMirror } from '../support/mirror-file.ts'
import { openReader } from '../support/mirror-reader.ts'
import { countTurns, PlayedTime } from '../support/played-time.ts'
import { RandomService, SEARCHES } from '../support/random-answers.ts'
import { wireTo } from '../support/random-wire.ts'
import { seeds } from '../support/seeds.ts'
import { readStored, untruthsOf, type Watched } from '../support/untruths.ts'

/** Histories of some nights each; a thirtieth of them in `npm test`. */
const HISTORIES = 300

test('over random nights of services that change, fail and lie, the mirror and its reports contain nothing wrong', async () => {
  const mirror = await aMirror()
  const proofs = new Set<string>()
  for (let seed = 1; seed <= seeds(HISTORIES, { every: 30 }); seed += 1) {
    const { untruths, reports } = await playHistory(mirror, seed)
    expect({ seed, untruths }).toEqual({ seed, untruths: [] })
    for (const { status, proof } of reports) proofs.add(`${status} ${proof}`)
  }
  expect([...proofs]).toEqual(
    expect.arrayContaining(['complete proven', 'complete unproven', 'failed unproven', 'interrupted unproven']),
  )
})

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/**
 * Plays some nights of one organization, of a service and a list that a number decides, in virtual time. Returns what the mirror
 * or a report said that was not so, each with its night.
 */
async function playHistory(mirror: Mirror, seed: number, trace: (line: string) => void = () => {}) {
  const dice = diceOf(seed)
  const organization = `s${seed}`
  const db = openReader(mirror.file)
  const pageSize = dice.pick([10, 12, 20, 25, 50, 100])
  const list = new KnownList(dice, seed, dice.pick(ORDERS), dice.chance(0.5) ? 'honest' : dice.pick(DATES))
  for (let made = dice.below(pageSize * (dice.chance(0.2) ? 25 : 7)); made > 0; made--) list.insert()
  const service = aService(list, dice)
  const isReplicated = dice.chance(0.1)
  const isJumpy = dice.chance(0.1)
  const concurrency = 1 + dice.below(6)
  const removals = { after: 1 + dice.below(2), maxShare: dice.pick([0.1, 1]) }
  const time = new PlayedTime(Date.UTC(2026, 0, 5, 2) + dice.below(1000), dice)
  const played: (Watched & { hides: boolean })[] = []
  const untruths: string[] = []

  for (let night = 1, nights = 2 + dice.below(5); night <= nights; night++) {
    list.second += 5000
    if (night > 1) passDay(list, dice, { mayComeBack: !isReplicated })
    const churn = randomChurn(dice, isReplicated)
    service.plan(dice, night)
    service.replica = isReplicated && night > 1 && dice.chance(0.6) ? (service.replica ?? service.copy()) : undefined
    service.hidden = new Set(!isReplicated && dice.chance(0.05) ? list.listed.filter(() => dice.chance(0.2)) : [])
    service.search = service.hidden.size > 0 ? 'works' : dice.pick(SEARCHES)
    const stop = new AbortController()
    const stopAfter = dice.chance(0.1) ? 1 + dice.below(15) : Infinity
    const moved = () => {
      time.pass({ isJumpy })
      list.stir(churn)
      if (service.answers >= stopAfter) stop.abort()
    }
    const { clocks } = time
    const answer: Parameters<typeof wireTo>[0] = (asked) => service.answer(asked, time.trueMs)
    const source = time.openSource({ concurrency, connections: wireTo(answer, moved, dice) })
    const before = readStored(db, organization)
    const startTick = list.tick
    const putBack = countTurns()
    const outcome = await mirrorOrganization({
      ...clocks,
      ...{ organization, source, mirror, concurrency, removals, pageSize, trigger: 'sync', signal: stop.signal },
      scan: dice.chance(0.05) ? 'plain' : 'chain',
      resumeWithinMs: 6 * HOUR_MS,
      maxRunMs: dice.chance(0.05) ? 500 + dice.below(5000) : undefined,
      pageLimit: dice.chance(0.03) ? 1 + dice.below(5) : undefined,
    }).finally(putBack)
    source.close()
    const { report } = outcome
    const from = played.find((earlier) => earlier.outcome.report.runId === report.resumedFrom)
    const isHonest = service.hidden.size === 0 && service.replica === undefined && from?.isHonest !== false
    const watched = {
      ...{ outcome, list, isHonest, before, after: readStored(db, organization) },
      isHidden: from?.hides === true || (service.hidden.size > 0 && Object.keys(churn).length > 0),
      hides: from?.hides === true || service.hidden.size > 0,
      startTick: from?.startTick ?? startTick,
      endTick: list.tick,
      isStatic:
        Object.keys(churn).length === 0 && (from === undefined || (from.isStatic && from.endTick === startTick)),
      newerThan: service.replica?.people ?? from?.newerThan,
    }
    played.push(watched)
    trace(`${night} ${list.order} ${[...service.used].join()} ${JSON.stringify({ churn, pageSize, ...report })}`)
    untruths.push(...untruthsOf(watched).map((untruth) => `night ${night}: ${untruth}`))
    for (const { runId, organization: held } of await mirror.listHeldRemovals())
      if (held === organization && dice.chance(0.3)) await mirror.discardRemovals(runId)
    const isSoon = report.status !== 'complete' && dice.chance(0.7)
    time.trueMs += isSoon ? 10 * MINUTE_MS : dice.pick([30 * MINUTE_MS, 24 * HOUR_MS, 24 * HOUR_MS])
  }
  db.close()
  return { untruths, reports: played.map(({ outcome }) => outcome.report) }
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

function passDay(list: KnownList, dice: Dice, { mayComeBack }: { mayComeBack: boolean }): void {
  const comeBack = mayComeBack ? 0.1 : 0
  const churn: Churn = dice.chance(0.5) ? {} : { insert: 0.3, delete: 0.3, change: 0.3, comeBack, odd: 0.05 }
  for (let more = dice.below(12); more > 0; more--) list.stir(churn)
  if (dice.chance(0.05)) list.stir({ purge: 1 })
}

function randomChurn(dice: Dice, isReplicated: boolean): Churn {
  if (dice.chance(0.4) || isReplicated) return {}
  const rate = () => (dice.chance(0.5) ? 0 : dice.next() ** 3 * 0.5)
  const bulk = () => (dice.chance(0.3) ? 0.05 : 0)
  const churn = { insert: rate(), delete: rate(), change: rate(), purge: bulk(), push: bulk(), comeBack: rate() / 3 }
  return Object.fromEntries(Object.entries(churn).filter(([, chance]) => chance > 0))
}
