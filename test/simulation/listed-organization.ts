import type { Organization } from '../../src/config/organization.ts'
import { isForGood } from '../../src/errors/error-facts.ts'
import { endedWell } from '../../src/model/report.ts'
import { MOST_REQUESTS } from '../../src/sync/confirm-absences.ts'
import type { RunKind } from '../../jobs/queue/port.ts'
import type { Outcome } from '../../src/sync/mirror-organization.ts'
import { type Dice, dice as diceOf } from '../support/dice.ts'
import { atSecond, type Churn, KnownList, type Order } from '../support/known-list.ts'
import type { Reader } from '../support/mirror-reader.ts'
import { anOrganization } from '../support/mirrored-sandbox.ts'
import type { FaultKind } from './plan.ts'
import { Followers } from '../support/followers.ts'
import { RandomService, SEARCHES } from './service.ts'
import { readKept, readStored, untrueAfterQuickRuns, untruthsOf, untruthsOfQuickRun, type Watched } from './untruths.ts'
import { MINUTE_MS } from '../support/builders.ts'

/** The API key, the secret and the privacy key of a world, which nothing may repeat. */
export const SECRETS = ['a-key-of-the-world', 'a-secret-of-the-world', 'a privacy key of more than 32 characters']
const [API_KEY = '', SECRET = '', KEY = ''] = SECRETS

const ORDERS: readonly Order[] = [
  ...(['serial', 'created asc, id asc', 'created desc, id asc', 'id asc', 'name'] as const),
  ...(['last change asc', 'last change desc', 'ties asc', 'shuffled'] as const),
]

const DATES = [
  ...(['honest', 'same second', 'few seconds', 'two runs'] as const),
  ...(['future rows', 'unreadable', 'backward'] as const),
]

/** A night that may be continued: since when its list was read, and how. */
type Night = Omit<Watched, 'outcome' | 'list' | 'isHidden' | 'before' | 'after'> & { hides: boolean }

/** What is stored of an organization before a run, and the state of its list. */
type Before = ReturnType<ListedOrganization['stateIn']>

/** An organization of a world: its configuration, its list with all of its history, its service, and what its runs must not say. */
export class ListedOrganization {
  readonly id: string
  readonly list: KnownList
  readonly service: RandomService
  readonly followers: Followers
  configured: Organization
  churn: Churn = {}
  readonly #dice: Dice
  readonly #nights = new Map<number | undefined, Night>()
  /** What was read by runs whose report was lost, since the last one that came to its end. */
  #unreported: Night | undefined
  /** Whether the next run that ends well may be the first one by its policy of privacy. */
  #isPolicyNew = false
  /** The current second, for the creation of customers. */
  #second = 0

  constructor(id: string, seed: number, scheduled: { nights: string; quick: string }) {
    const dice = diceOf(seed)
    this.#dice = dice
    this.id = id
    const order = dice.pick(ORDERS)
    const dates = dice.chance(0.6) ? 'honest' : dice.pick(DATES)
    const chosen = someSettings(dice)
    const { pageSize } = chosen
    const size = dice.below(pageSize * (dice.chance(0.2) ? 12 : 5))
    const createdAtOf = (n: number) => createdAt(dates, n, this.#second, dice)
    this.list = new KnownList(dice, { seed, order, size, isHostile: seed % 3 === 0, createdAtOf })
    this.service = new RandomService(this.list, dice)
    this.followers = new Followers(id)
    this.service.beyondEnd = dice.pick(['empty', 'empty', 'empty', '404', 'clamp'])
    if (dice.chance(0.2)) this.service.cap = dice.pick([5, 10, 15, 30, 50])
    if (dice.chance(0.15)) this.service.greatestTotal = pageSize * (1 + dice.below(3))
    this.service.sendsDate = dice.chance(0.9)
    this.service.skewMs = dice.chance(0.7) ? 0 : (dice.below(1200) - 600) * 1000
    this.service.cacheSays = this.service.sendsDate ? dice.pick(['Age', 'Date', 'both']) : 'Age'
    const settings = {
      ...{ ...chosen, concurrency: 1 + dice.below(6), requestTimeoutMs: MINUTE_MS },
      ...{ maxWaitMs: 15 * MINUTE_MS, maxRunMs: 120 * MINUTE_MS },
      schedule: {
        ...{ cron: scheduled.nights, timezone: 'UTC', spreadMs: dice.pick([0, 20 * MINUTE_MS]) },
        ...(dice.chance(0.6) && { quick: scheduled.quick }),
      },
    }
    this.configured = anOrganization(
      { id, baseUrl: `https://${id}.example/api/v1`, apiKey: API_KEY, secret: SECRET },
      settings,
    )
  }

  /** A person writes other settings for it. */
  configureAnew(): void {
    this.configured = { ...this.configured, ...someSettings(this.#dice), scan: this.#dice.pick(SCANS) }
    this.#isPolicyNew = true
    this.followers.overlook(['address', 'email', 'phone'])
  }

  /** What the service and the list do in a run that begins now. */
  prepare(run: number, faults: ReadonlySet<FaultKind>, isCalm: boolean): void {
    const { service, list } = this
    const dice = this.#dice
    this.#second += 5000
    this.churn = isCalm || service.replica !== undefined ? {} : someChurn(dice)
    service.plan(dice, run)
    if (!faults.has('service lies')) [service.faults, service.cacheChance] = [[], 0]
    service.replica = faults.has('replica stops') ? (service.replica ?? service.copy()) : undefined
    const hides = faults.has('customers hidden') && service.replica === undefined
    service.hidden = new Set(hides ? list.listed.filter(() => dice.chance(0.2)) : [])
    service.search = faults.has('search fails') && !hides ? dice.pick(SEARCHES) : 'works'
  }

  passHours({ isCalm }: { isCalm: boolean }): void {
    const { list } = this
    const dice = this.#dice
    const comeBack = this.service.replica === undefined ? 0.1 : 0
    const churn: Churn = dice.chance(0.4) ? {} : { insert: 0.3, delete: 0.3, change: 0.3, comeBack, odd: 0.04 }
    for (let more = isCalm ? 0 : dice.below(12); more > 0; more -= 1) list.stir(churn)
    if (!isCalm && dice.chance(0.03)) list.stir({ purge: 1 })
  }

  stateIn(db: Reader) {
    return { stored: readStored(db, this.id), kept: readKept(db, this.id), tick: this.list.tick }
  }

  /** What the report of a run, and the mirror after it, say that is not so. */
  untruths(kind: RunKind, outcome: Outcome, { before, db }: { before: Before; db: Reader }) {
    const { list, service } = this
    const { report } = outcome
    const after = readStored(db, this.id)
    // What a cache kept for a few seconds is the list before the run.
    const [startTick, endTick] = [Math.min(before.tick, service.oldestTick), list.tick]
    const run = { outcome, list, before: before.stored, after, startTick, endTick }
    const found: string[] = []
    if (kind === 'quick') {
      const keptNow = readKept(db, this.id)
      // What was remembered of the list goes with the policy that it was hidden by.
      const kept = { kept: this.#isPolicyNew ? { ...before.kept, kept: keptNow.kept } : before.kept, keptNow }
      const isHonest = service.mistakes === 0 && this.#isListed
      const isStatic = endTick === startTick + service.answers
      found.push(...untruthsOfQuickRun({ ...run, ...kept, isHonest, isStatic }))
    } else {
      const resumed = report.resumedFrom
      const from = resumed === undefined ? undefined : (this.#nights.get(resumed) ?? this.#unreported)
      const night = this.#nightSince(startTick, from)
      this.#nights.set(report.runId, night)
      if (report.status === 'complete') this.#unreported = undefined
      // A sample of searches may miss those who are hidden, and any search those who chose such fields.
      const mayBeMissed = !this.#isStill || service.answers > MOST_REQUESTS
      const isMissed = [...service.hidden].some((person) => mayBeMissed || list.chosenBy(person) !== undefined)
      const isHidden = from?.hides === true || isMissed
      const watched = { ...run, ...night, isHidden }
      found.push(...untruthsOf(watched), ...untrueAfterQuickRuns(watched, resumed))
    }
    const removedAtOnce = [...after.customers.values()].filter(({ id, removed_at }) => {
      const was = before.stored.customers.get(id)
      return removed_at !== null && was?.removed_at === null && was.missing_since === null
    })
    if (this.configured.removals.after > 1)
      found.push(...removedAtOnce.map(({ id }) => `${id} was removed in the first night without them`))
    if (!endedWell(report)) return found
    this.#isPolicyNew = false
    const hides = this.configured.privacy !== undefined
    if (hides && [...after.customers.values()].some(({ email }) => String(email).includes('@')))
      found.push('an e-mail address is stored as sent')
    return [...found, ...this.followers.untruths(db)]
  }

  get #isStill(): boolean {
    return Object.keys(this.churn).length === 0
  }

  /** Whether its service lists all customers that there are now. */
  get #isListed(): boolean {
    return this.service.hidden.size === 0 && this.service.replica === undefined
  }

  /** What is not so after a program has ended in a run: the rows of a page and their counts are saved together, or not at all. */
  untrueAfterEnd({ stored: before }: Before, db: Reader): string[] {
    const after = readStored(db, this.id)
    const inserted = ({ runs }: typeof before) => runs.reduce((sum, run) => sum + Number(run.inserted), 0)
    const [saved, counted] = [after.customers.size - before.customers.size, inserted(after) - inserted(before)]
    return saved === counted ? [] : [`${saved} customers were saved by a run that ended, and ${counted} are counted`]
  }

  /** A run has read since then, and its report was lost. */
  noteUnreported({ tick }: { tick: number }): void {
    const before = this.#unreported ?? [...this.#nights.values()].at(-1)
    this.#unreported = { ...this.#nightSince(tick, before), isStatic: false }
  }

  /** Its mirror is that of a backup, whose last run was this one. */
  goBackTo(lastRun: number): void {
    this.followers.beginAnew()
    for (const run of this.#nights.keys()) if ((run ?? Infinity) > lastRun) this.#nights.delete(run)
    this.#unreported = undefined
  }

  #nightSince(startTick: number, from: Night | undefined): Night {
    const { service, list } = this
    return {
      startTick: from?.startTick ?? startTick,
      endTick: list.tick,
      isHonest: this.#isListed && from?.isHonest !== false,
      hides: from?.hides === true || service.hidden.size > 0,
      isStatic: this.#isStill && (from === undefined || (from.isStatic && from.endTick === startTick)),
      newerThan: service.replica?.people ?? from?.newerThan,
    }
  }

  /** That its list was not read to the end since then, where it and its service let a run do so. */
  unreadSince(db: Reader, sinceMs: number): string[] {
    if (this.service.greatestTotal < Infinity) return []
    const { freshness, runs } = readStored(db, this.id)
    const last = runs.findLast(({ trusted_pages }) => trusted_pages === null)
    // The list may grow by as many pages as are read, or end before a page that was asked for: a run is not made again after that.
    if (isForGood(last?.error_code ?? '')) return []
    // It was read, and most of it was odd.
    if (Number(last?.rejected) > Number(last?.received) / 2) return []
    const isRead = Date.parse(`${freshness?.read_as_of?.replace(' ', 'T')}Z`) >= sinceMs
    return isRead ? [] : [`was read last at ${freshness?.read_as_of} although its service was there`]
  }

  /** What is not as it should be after calm nights: runs that stand open, and, where its service lets all be read, who is not in the mirror. */
  untrueAfterCalm(db: Reader): string[] {
    const open = readStored(db, this.id).runs.filter(({ status }) => status === 'running')
    return [...open.map(({ id }) => `run ${id} stands open although no program makes it`), ...this.#lacking(db)]
  }

  #lacking(db: Reader): string[] {
    const { list, service } = this
    if (service.greatestTotal < Infinity || service.cap < this.configured.pageSize) return []
    if (list.order === 'shuffled' || list.order === 'ties asc') return []
    const { customers } = readStored(db, this.id)
    const known = list.listed.filter(({ odd, isForgotten }) => !isForgotten && odd.length === 0)
    const lacking = known.filter(({ id }) => customers.get(id)?.removed_at !== null)
    return lacking.map(({ n }) => `${n} is listed and not in the mirror although nothing went wrong any more`)
  }
}

const SCANS = ['chain', 'chain', 'chain', 'plain'] as const
const POLICIES = [
  ...[undefined, undefined, undefined],
  ...[['email'], ['email', 'phone']].map((hash) => ({ drop: ['address'], hash, key: { literal: KEY } })),
] satisfies Organization['privacy'][]

/** What a person may choose otherwise from night to night. */
function someSettings(dice: Dice) {
  return {
    pageSize: dice.pick([5, 10, 10, 12, 20, 25, 40]),
    removals: { after: 1 + dice.below(2), maxShare: dice.pick([0.1, 1]) },
    privacy: POLICIES[dice.below(POLICIES.length)],
  }
}

function createdAt(dates: (typeof DATES)[number], n: number, second: number, dice: Dice): string | null {
  const seconds = {
    honest: second + n,
    'same second': 1000,
    'few seconds': second + Math.floor(n / 7),
    'two runs': n % 200,
    'future rows': dice.chance(0.02) ? 4e8 + n : second + n,
    unreadable: dice.chance(0.05) ? Number.NaN : second + n,
    backward: 1e6 - n,
  }[dates]
  if (Number.isNaN(seconds)) return dice.chance(0.5) ? null : 'yesterday'
  return atSecond(seconds)
}

function someChurn(dice: Dice): Churn {
  if (dice.chance(0.5)) return {}
  const rate = () => (dice.chance(0.5) ? 0 : dice.next() ** 3 * 0.5)
  const bulk = () => (dice.chance(0.2) ? 0.05 : 0)
  const churn = { insert: rate(), delete: rate(), change: rate(), purge: bulk(), push: bulk(), comeBack: rate() / 3 }
  return Object.fromEntries(Object.entries(churn).filter(([, chance]) => chance > 0))
}
