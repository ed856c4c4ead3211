import { expect, test } from 'vitest'
import { removingProof } from '../../src/model/report.ts'
import type { Absent } from '../../src/model/run.ts'
import { ListScan } from '../../src/scan/list-scan.ts'
import type { Certificate } from '../../src/scan/scan.ts'
import { startOf, type Window, type WindowAnswer } from '../../src/scan/window.ts'
import { decideAbsences } from '../../src/store/absent/removal-rule.ts'
import { dice as diceOf, type Dice } from '../support/dice.ts'
import { drive, type Service } from '../support/drive-scan.ts'
import { asHandedBack } from '../support/scanned-services.ts'
import { seeds } from '../support/seeds.ts'
import { type ListOrder, SimulatedList } from '../support/simulated-list.ts'

/** Histories of each order, three nights each: all of them in a deep run. */
const HISTORIES = seeds(20_000, { least: 5, every: 4000 })
/** The requests of a scan: three plain readings, and some for what a short list needs as well. */
const SOME_MORE = 40

type SecondOf = (serial: number, dice: Dice, imported: number) => number
const usually: SecondOf = (serial, dice) => serial * 40 + dice.below(80)

/** How a service sorts, the best grade that some nights of it have, and when its customers were created. */
const ORDERS: Record<string, [order: ListOrder, best: Certificate['proof'], secondOf?: SecondOf]> = {
  'id asc': ['id asc', 'proven'],
  'created asc': ['created asc, id asc', 'proven'],
  'created desc': ['created desc, id asc', 'proven'],
  'created desc, unstable ties': ['ties desc', 'proven', (serial) => Math.floor(serial / 4) * 60],
  'hidden asc': ['serial', 'settled'],
  'hidden desc': ['serial desc', 'settled'],
  'hidden asc, old dates': [
    'serial',
    'settled',
    (n, dice, old) => (n <= 2 * old ? dice.below(1e6) : usually(n, dice, 0)),
  ],
  'created desc, import': [
    'created desc, id desc',
    'proven',
    (n, dice, old) => (n <= old ? 1000 : usually(n, dice, 0)),
  ],
  name: ['name', 'settled'],
  'last change first': ['last change desc', 'settled'],
  'last change last': ['last change asc', 'settled'],
  shuffled: ['shuffled', 'unproven'],
}

test.each(Object.entries(ORDERS))(
  '%s: no night is proven or settled against its definition, none removes a listed customer, and none asks for too much',
  (_, [order, best, secondOf]) => {
    const grades = new Set<string>()
    for (let seed = 1; seed <= HISTORIES; seed += 1) {
      for (const { plain, requests, proof, ...found } of playNights(order, seed, secondOf)) {
        grades.add(proof)
        // The list may have grown since, and a reading that was killed begins anew.
        const isTooDear = requests > 2 * (3 * plain + SOME_MORE)
        const right = { against: [], wronglyRemoved: [], isTooDear: false }
        expect({ seed, proof, ...found, isTooDear }).toEqual({ seed, proof, ...right })
      }
    }
    expect([...grades]).toContain(best)
  },
)

/** How many customers come, leave and change. */
type Churn = { readonly come: number; readonly leave: number; readonly change: number }

/** So many customers come, leave and change, on average, in a part of the time or all of it. */
function stir(list: SimulatedList, dice: Dice, { come, leave, change }: Churn, share = 1): void {
  const times = (average: number) => Math.floor(average) + (dice.chance(average % 1) ? 1 : 0)
  for (let left = times(come * share); left > 0; left -= 1) list.insert()
  for (let left = times(leave * share); left > 0; left -= 1) list.delete()
  for (let left = times(change * share); left > 0; left -= 1) list.move()
}

/** Three nights with a list that a number decides: it changes between them and while it is read, some readings are killed and continued. */
function playNights(order: ListOrder, seed: number, secondOf = usually) {
  const plan = planOf(seed)
  const dice = diceOf(seed)
  const createdSecondOf = (serial: number) => secondOf(serial, dice, Math.floor(plan.size * 0.3))
  const list = new SimulatedList(dice, { size: plan.size, order, createdSecondOf })
  const known = new Map<string, Absent>()
  return [1, 2, 3].map((night) => {
    if (night > 1) stir(list, dice, plan.day)
    list.rememberAll()
    const before = list.size
    const { certificate, cuts, requests } = read(list, plan, dice)
    const seen = new Set(cuts.flatMap(({ served }) => served))
    const lost = list.survivors().filter((id) => !seen.has(id))
    const isKept = order !== 'shuffled' && certificate.proof === 'settled'
    return {
      ...{ proof: certificate.proof, requests },
      plain: Math.max(1, Math.ceil(Math.max(before, list.size) / certificate.pageSize)),
      against: certificate.proof === 'proven' ? lost : isKept ? againstSettled(lost, cuts, new Set(list.stayed())) : [],
      wronglyRemoved: removeAbsent(known, seen, { certificate, listed: new Set(list.listed()), search: plan.search }),
    }
  })
}

type Plan = ReturnType<typeof planOf>

function planOf(seed: number) {
  const dice = diceOf(seed ^ 0x51_ed_27)
  const level = dice.pick([0, 0.02, 0.1, 0.4, 1, 3])
  const some = () => (dice.chance(0.65) ? level * dice.next() * 1.5 : 0)
  const pageSize = dice.pick([20, 25, 40, 100, 100])
  return {
    pageSize,
    size: Math.floor(pageSize * (0.3 + dice.next() * 12)),
    parallel: dice.pick([1, 4, 4, 4, 8]),
    /** Between two answers, and between two nights. */
    churn: { come: some(), leave: some(), change: some() },
    day: { come: dice.below(8), leave: dice.below(8), change: dice.below(40) },
    search: dice.chance(0.5),
    killed: dice.chance(0.2) ? 0.5 : 0,
    /** How often a window is not answered with its rows. */
    faulty: dice.chance(0.1) ? 0.2 * dice.next() : 0,
  }
}

/** One answer: the customers on the page, and the whole list in the order from which it was cut. */
type Cut = { start: number; served: readonly string[]; list: readonly string[] }

function read(list: SimulatedList, { pageSize, parallel, churn, day, faulty, killed, size }: Plan, dice: Dice) {
  const cuts = new Map<WindowAnswer, Cut>()
  const service = {
    answer(window: Window): ReturnType<Service['answer']> {
      stir(list, dice, churn)
      if (dice.chance(faulty)) return dice.pick(['hole', 'cached-answer'])
      const answer = list.answer(window)
      cuts.set(answer, {
        start: startOf(window),
        served: answer.rows.flatMap(({ id }) => id ?? []),
        list: list.listed(),
      })
      return answer
    },
  }
  const stopAfter = dice.chance(killed) ? 1 + dice.below(Math.ceil(size / pageSize)) : Infinity
  let scan = new ListScan({ pageSize })
  const rides = [drive(scan, service, { dice, parallel, stopAfter })]
  if (!scan.done) {
    stir(list, dice, day, 1 / 8)
    scan = new ListScan({ pageSize, recalled: asHandedBack(rides.flatMap(({ reads }) => reads)) })
    rides.push(drive(scan, service, { dice, parallel }))
  }
  return {
    certificate: scan.certificate(),
    cuts: rides.flatMap(({ reads }) => reads.flatMap((answer) => cuts.get(answer) ?? [])),
    requests: rides.reduce((sum, ride) => sum + ride.requests, 0),
  }
}

/**
 * What a settled reading must not have: no chain of pages from the first row to the last in which neighbours share two customers or
 * more, in the same order; or a customer unread who was listed throughout and kept their place, unless it stood between two pages
 * whose shared customers all moved.
 */
function againstSettled(lost: readonly string[], cuts: readonly Cut[], stayed: ReadonlySet<string>): unknown[] {
  const shared = (one: Cut, other: Cut) => new Set(one.served).intersection(new Set(other.served))
  const areLinked = (one: Cut, other: Cut): boolean => {
    const both = shared(one, other)
    const inOrder = ({ served }: Cut) => served.filter((id) => both.has(id)).join()
    return both.size >= 2 && inOrder(one) === inOrder(other)
  }
  const reached = cuts.filter(({ start }) => start === 0)
  const left = new Set(cuts.filter(({ start }) => start > 0))
  for (const from of reached) for (const to of left) if (areLinked(from, to) && left.delete(to)) reached.push(to)
  const hasChain = reached.some(({ start, served, list }) => start + served.length >= list.length)
  const isLoose = (both: ReadonlySet<string>) => both.size >= 2 && both.isDisjointFrom(stayed)
  const inPlace = lost.filter((id) => {
    const before = cuts.filter(({ list, start, served }) => list.indexOf(id) >= start + served.length)
    const behind = cuts.filter(({ list, start }) => list.indexOf(id) < start)
    return stayed.has(id) && !before.some((one) => behind.some((other) => isLoose(shared(one, other))))
  })
  return [...(hasChain ? [] : ['no chain of pages that share two customers']), ...inPlace]
}

/** Decides by the rule of the store about absent customers; a search finds those that are listed. Returns the listed ones that were removed. */
function removeAbsent(
  known: Map<string, Absent>,
  seen: ReadonlySet<string>,
  { certificate, listed, search }: { certificate: Certificate; listed: ReadonlySet<string>; search: boolean },
): string[] {
  const proof = certificate.stoppedAt === undefined ? removingProof(certificate) : undefined
  const absent = [...known.values()].filter(({ id }) => !seen.has(id))
  const [gone, there] = [false, true].map(
    (is) => new Set(absent.flatMap(({ id }) => (listed.has(id) === is ? id : []))),
  )
  const searched = { confirmed: (search && gone) || new Set<string>(), found: search ? there : undefined }
  const rule = { after: 2, maxShare: 1 }
  const evidence = { absent, unjudged: new Set<number>(), rule, searched, isTooMuch: false }
  const missing = proof === undefined || absent.length === 0 ? [] : decideAbsences({ ...evidence, proof }).missing
  for (const { row, isRemoved } of missing) {
    row.missingWhole += 1
    if (proof !== 'whole') row.missingScans += 1
    if (proof === 'proven') row.missingProven += 1
    if (isRemoved) known.delete(row.id)
  }
  const unsaid = { name: null, username: null, email: null, createdAtUtc: null }
  for (const id of seen) known.set(id, { rowId: 0, id, ...unsaid, missingProven: 0, missingScans: 0, missingWhole: 0 })
  return missing.filter(({ row, isRemoved }) => isRemoved && listed.has(row.id)).map(({ row }) => row.id)
}
