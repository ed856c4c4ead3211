import { expect, inject, test } from 'vitest'
import { chainScan } from '../../src/scan/chain-scan.ts'
import { limitedScan } from '../../src/run/start-scan.ts'
import { endOf, startOf, type Window } from '../../src/scan/window/window.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { inOrderOfPosition, LAST_CHANGE, readNight, restlessNight, touch } from '../support/last-change-scans.ts'
import { seeds, someOf } from '../support/seeds.ts'
import { type ListOrder, SimulatedList } from '../support/simulated-list.ts'

const BY_LAST_CHANGE: ListOrder = 'last change desc'

test('of a list by last change no row is lost, whatever changes, comes and goes while it is read upwards', () => {
  const nights = Array.from({ length: seeds(300) }, (_, seed) => ({ seed, ...restlessNight(seed) }))

  const certified = nights.filter(({ certificate }) => certificate.proof !== 'unproven')
  expect(certified.filter(({ lost }) => lost > 0)).toEqual([])
  expect(certified.length).toBeGreaterThan(0.98 * nights.length)
})

test('a night that learns that changed rows go to the top loses none, and the next one begins at the end', () => {
  const luck = dice(4)
  const list = new SimulatedList(luck, { size: 5000, order: BY_LAST_CHANGE })
  const between = () => touch(list, 2, luck)

  const first = readNight(list, luck, { between, parallel: 4 })
  expect(first).toMatchObject({ lost: 0, order: LAST_CHANGE, certificate: SETTLED })
  const second = readNight(list, luck, { between, order: first.order })
  expect(second).toMatchObject({ lost: 0, order: LAST_CHANGE, certificate: SETTLED })
  expect(endOf(second.asked[1] ?? FIRST)).toBeGreaterThan(5000)
  expect(second.asked.at(-1)).toEqual(FIRST)
})

test.each([20_000, 50_000].slice(0, inject('isDeep') ? 2 : 1))(
  '%d rows of which 1 %% change are settled in one pass of at most 1.3 times the plain requests',
  (size) => {
    const luck = dice(1)
    const list = new SimulatedList(luck, { size, order: BY_LAST_CHANGE })
    const between = () => touch(list, 1, luck)

    const night = readNight(list, luck, { between, parallel: 4, order: LAST_CHANGE })

    expect(night).toMatchObject({ lost: 0, order: LAST_CHANGE, certificate: SETTLED })
    expect(night.requests / night.plain).toBeLessThan(1.3)
  },
)

test.each([5, 20, 40])(
  'where two rows went up from the end of the last page below the top, and %i came, those between are read',
  (come) => {
    const luck = dice(1)
    const list = new SimulatedList(luck, { size: 1500, order: BY_LAST_CHANGE })
    const asked: Window[] = []
    const instead = (window: Window) => {
      const below = asked.at(-1) ?? window
      if (asked.length === 1) list.delete(90, 0)
      else if (asked.length > 3 && window.page === 1 && asked.filter(({ page }) => page === 1).length === 1) {
        for (let left = come; left > 0; left -= 1) list.insert()
        for (const row of [1, 1]) list.move(endOf(below) + come - row)
      } else list.move(1200 + luck.below(200))
      asked.push(window)
      return undefined
    }

    const night = readNight(list, luck, { order: LAST_CHANGE, instead })

    expect({ proof: night.certificate.proof, lost: night.lost }).toEqual({ proof: 'settled', lost: 0 })
  },
)

test.each(someOf([[3], [60], [150], [198]]))(
  'an import that changes 5,000 rows after answer %i loses none',
  (importAt) => {
    const luck = dice(importAt)
    const list = new SimulatedList(luck, { size: 20_000, order: BY_LAST_CHANGE })
    let answers = 0
    const between = () => touch(list, (answers += 1) === importAt ? 5000 : 1, luck)

    const night = readNight(list, luck, { between, parallel: 4, order: LAST_CHANGE })

    expect(night).toMatchObject({ lost: 0, order: LAST_CHANGE, certificate: SETTLED })
    expect(night.requests / night.plain).toBeLessThan(1.7)
  },
)

test.each([[0], [30]])(
  'read upwards, a service that serves %i rows once more in place of others settles nothing by that',
  (repeated) => {
    const luck = dice(2)
    const list = new SimulatedList(luck, { size: 900, order: BY_LAST_CHANGE })
    const instead = (window: Window) => {
      const whole = list.answer({ page: 1, size: list.size })
      const rows = [...whole.rows]
      rows.splice(600, repeated, ...rows.slice(200, 200 + repeated))
      return { ...whole, window, rows: rows.slice(startOf(window), endOf(window)), perPage: window.size }
    }

    const { certificate } = readNight(list, luck, { instead, between: () => list.move(), order: LAST_CHANGE })

    expect(certificate.proof === 'settled').toBe(repeated === 0)
  },
)

test.each([[0], [1], [99], [100], [101], [250]])('a list of %i rows that change is read in full', (size) => {
  for (let seed = 0; seed < seeds(20); seed++) {
    const luck = dice(seed)
    const list = new SimulatedList(luck, { size, order: BY_LAST_CHANGE })
    const between = () => size > 0 && touch(list, luck.next() * 4, luck)
    const night = readNight(list, luck, { between, parallel: 1 + luck.below(4), order: LAST_CHANGE })
    expect({ seed, ...night }).toMatchObject({ seed, lost: 0 })
    expect(night.certificate.proof).not.toBe('unproven')
  }
})

test('a list at rest is proven, at the cost of a request for the top before and after', () => {
  for (const size of [101, 250, 1100, 5000]) {
    const list = new SimulatedList(dice(size), { size, order: BY_LAST_CHANGE })
    const { certificate, requests, plain, order } = readNight(list, dice(1), { order: LAST_CHANGE, parallel: 4 })
    expect({ ...certificate, order }).toMatchObject({ proof: 'proven', basis: 'quiet', order: LAST_CHANGE })
    expect(requests).toBeLessThanOrEqual(Math.ceil(plain * 1.16) + 3)
  }
})

const OTHER_ORDERS: readonly ListOrder[] = [
  'created desc, id desc',
  'created asc, id asc',
  'id asc',
  'name',
  'last change asc',
  'ties desc',
  'shuffled',
]

test.each(OTHER_ORDERS)(
  'a list by %s that is taken for one by last change is never proven with a row missing',
  (listOrder) => {
    for (let seed = 0; seed < seeds(200, { every: 20 }); seed++) {
      const { certificate, lost } = restlessNight(seed, { listOrder })
      if (certificate.proof === 'proven') expect({ seed, lost }).toEqual({ seed, lost: 0 })
    }
  },
)

test.each(['created desc, id desc', 'id asc'] as const)(
  'a list by %s is proven on the night it is read upwards, and forward on the next',
  (order) => {
    const luck = dice(3)
    const list = new SimulatedList(luck, { size: 3000, order })
    const between = () => (luck.chance(0.5) ? list.insert() : list.delete())

    const first = readNight(list, luck, { between, parallel: 4, order: LAST_CHANGE })
    expect(first).toMatchObject({ lost: 0, certificate: { proof: 'proven', basis: 'witness' } })
    expect(first.order.direction).toBeUndefined()
    const second = readNight(list, luck, { between, order: first.order })
    expect(second).toMatchObject({ lost: 0, certificate: { proof: 'proven', passes: 1 } })
  },
)

test('a list whose direction alternates is given up after a few requests, and then read as any other', () => {
  const luck = dice(1)
  const list = new SimulatedList(luck, { size: 3000, order: 'id asc' })
  let answers = 0
  const reversed = (window: Window) => {
    const answer = list.answer({ page: 1, size: 3000 })
    const rows = answer.rows.toReversed().slice(startOf(window), endOf(window))
    return { ...answer, window, perPage: window.size, rows }
  }
  const instead = (window: Window) => ((answers += 1) % 2 === 0 ? reversed(window) : undefined)

  const { certificate, lost, order } = readNight(list, luck, { order: LAST_CHANGE, instead })

  expect(order.direction).toBeUndefined()
  if (certificate.proof !== 'unproven') expect(lost).toBe(0)
})

test('a scan that was stopped goes on upwards from the windows it had read', () => {
  for (const stopAfter of someOf(STOPS)) {
    const luck = dice(stopAfter)
    const list = new SimulatedList(luck, { size: 2030, order: BY_LAST_CHANGE })
    const between = () => touch(list, 1, luck)
    const service = { answer: list.answer.bind(list), between }
    const stopped = drive(chainScan({ order: LAST_CHANGE }), service, { dice: luck, parallel: 3, stopAfter })
    touch(list, luck.below(30), luck)

    const recalled = inOrderOfPosition(stopped.reads)
    const night = readNight(list, luck, { between, recalled, order: LAST_CHANGE, parallel: 3 })

    expect({ stopAfter, ...night }).toMatchObject({ stopAfter, lost: 0, certificate: { proof: 'settled' } })
    if (night.certificate.passes === 1) expect(night.requests + stopAfter).toBeLessThan(45)
  }
})

test('windows of a scan upwards are no harm to one that has forgotten the direction', () => {
  for (const stopAfter of someOf(STOPS)) {
    const luck = dice(stopAfter)
    const list = new SimulatedList(luck, { size: 2030, order: BY_LAST_CHANGE })
    const service = { answer: list.answer.bind(list) }
    const stopped = drive(chainScan({ order: LAST_CHANGE }), service, { dice: luck, parallel: 3, stopAfter })

    const night = readNight(list, luck, { recalled: inOrderOfPosition(stopped.reads), parallel: 3 })

    expect({ stopAfter, ...night }).toMatchObject({ stopAfter, lost: 0, certificate: { proof: 'proven' } })
  }
})

test('a page limit ends the scan after so many pages', () => {
  const luck = dice(1)
  const list = new SimulatedList(luck, { size: 1200, order: BY_LAST_CHANGE })
  const scan = limitedScan(chainScan({ order: LAST_CHANGE }), 3)
  const { requests } = drive(scan, { answer: list.answer.bind(list) }, { dice: luck })

  expect(requests).toBe(3)
  expect(scan.certificate()).toMatchObject({ proof: 'unproven' })
})

test('a row that cannot be read costs the grade, and no other row', () => {
  const luck = dice(1)
  const list = new SimulatedList(luck, { size: 2000, order: BY_LAST_CHANGE })
  const [poison] = list.answer({ page: 778, size: 1 }).rows
  const isPoisoned = (window: Window) => list.answer(window).rows.some(({ id }) => id === poison?.id)
  const instead = (window: Window) => (isPoisoned(window) ? 'hole' : undefined)

  const { certificate, lost } = readNight(list, luck, { order: LAST_CHANGE, instead, parallel: 4 })

  expect(certificate).toMatchObject({ proof: 'unproven', passes: 1, holes: [{ position: 777, size: 1 }] })
  expect(lost).toBe(1)
})

test('pages that are too large are read in smaller ones', () => {
  const luck = dice(1)
  const list = new SimulatedList(luck, { size: 2000, order: BY_LAST_CHANGE })
  const instead = (window: Window) =>
    startOf(window) >= 700 && window.size > 40 && startOf(window) < 1100 ? 'too-large' : undefined

  const { certificate, lost } = readNight(list, luck, {
    order: LAST_CHANGE,
    instead,
    between: () => touch(list, 1, luck),
    parallel: 4,
  })

  expect(lost).toBe(0)
  expect(certificate.proof).not.toBe('proven')
})

test('a page that fails once, next to the top, keeps no scan from its end', () => {
  for (let parallel = 1; parallel <= 4; parallel += 1) {
    const luck = dice(parallel)
    const list = new SimulatedList(luck, { size: 250, order: BY_LAST_CHANGE })
    let failures = 0
    const instead = ({ page }: Window) => (page === 2 && (failures += 1) === 1 ? 'hole' : undefined)

    const { certificate, lost } = readNight(list, luck, { order: LAST_CHANGE, instead, parallel })

    expect({ parallel, lost, certificate }).toMatchObject({ lost: 0, certificate: { proof: 'proven', passes: 1 } })
  }
})

test('a page that lacks a row once is read again, and the list at rest is proven in one pass', () => {
  for (let short = 1; short <= 14; short += 1) {
    const luck = dice(short)
    const list = new SimulatedList(luck, { size: 1100, order: BY_LAST_CHANGE })
    let answers = 0
    const instead = (window: Window) => {
      const answer = list.answer(window)
      return (answers += 1) === short ? { ...answer, rows: answer.rows.toSpliced(10, 1) } : answer
    }

    const { certificate, lost } = readNight(list, luck, { order: LAST_CHANGE, instead })

    expect({ short, lost, certificate }).toMatchObject({ short, lost: 0, certificate: { proof: 'proven', passes: 1 } })
  }
})

test('a list whose pages all lack a row is given up, and then read as any other', () => {
  const luck = dice(1)
  const list = new SimulatedList(luck, { size: 1100, order: BY_LAST_CHANGE })
  const instead = (window: Window) => {
    const answer = list.answer(window)
    return { ...answer, rows: answer.rows.toSpliced(10, 1) }
  }

  const { certificate, order } = readNight(list, luck, { order: LAST_CHANGE, instead })

  expect(order.direction).toBeUndefined()
  expect(certificate).toMatchObject({ proof: 'unproven', stoppedAt: undefined })
})

// Windows of at most ten rows share a single row around position 720, and none around 2,520, which all their sizes divide.
test.each([
  { size: 840, order: LAST_CHANGE, proof: 'proven' },
  { size: 2521, order: LAST_CHANGE, proof: 'converged' },
  { size: 2521, order: {}, proof: 'converged' },
])('$size rows in pages of ten end $proof ($order.direction)', ({ size, order, proof }) => {
  const luck = dice(1)
  const list = new SimulatedList(luck, { size, order: BY_LAST_CHANGE })

  const { certificate, lost } = readNight(list, luck, { order, pageSize: 10, parallel: 3 })

  expect({ lost, certificate }).toMatchObject({ lost: 0, certificate: { proof, stoppedAt: undefined } })
})

test('a service that serves only a few page sizes is read as before', () => {
  const luck = dice(1)
  const list = new SimulatedList(luck, { size: 1200, order: BY_LAST_CHANGE })
  const instead = (window: Window) => ([100, 50, 25, 10].includes(window.size) ? undefined : 'size-refused')

  const { certificate, lost } = readNight(list, luck, { order: LAST_CHANGE, instead })

  expect(lost).toBe(0)
  expect(certificate).toMatchObject({ proof: 'converged', reasons: ['no-overlap'] })
})

/** After so many answers a scan is stopped. */
const STOPS = Array.from({ length: 24 }, (_, index) => index + 1)

const FIRST: Window = { page: 1, size: 100 }
const SETTLED = { proof: 'settled', basis: 'last change', passes: 1 }
