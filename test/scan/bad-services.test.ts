import { expect, test } from 'vitest'
import type { Certificate } from '../../src/scan/scan.ts'
import { listScan } from '../../src/scan/list-scan.ts'
import { limitedScan } from '../../src/sync/start-scan.ts'
import type { Reason } from '../../src/model/reasons.ts'
import { startOf, type Window, type WindowAnswer } from '../../src/scan/window.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { seeds, someOf } from '../support/seeds.ts'
import { SimulatedList } from '../support/simulated-list.ts'
import { ROWS, type Answer, type Misbehaviour, scanOf, notFound } from '../support/misbehaving-services.ts'

const covers = (window: Window, position: number) =>
  window.size * (window.page - 1) <= position && position < window.size * window.page

/** Serves a page of another size than asked for, and says so. */
function resized(list: SimulatedList, window: Window, size: number): WindowAnswer {
  return { ...list.answer({ page: window.page, size }), window, perPage: size }
}

/** What a page is to a scan where answers have no total: an empty one is the only sign of the end. */
function countless(list: SimulatedList, window: Window): WindowAnswer {
  const answer = list.answer(window)
  return { ...answer, total: undefined, beyondEnd: window.page > 1 && answer.rows.length === 0 }
}

const LIES: [string, Reason, Misbehaviour][] = [
  ['a total that is too high', 'short-page', (list, window) => ({ ...list.answer(window), total: 2000 })],
  ['a total of a billion', 'short-page', (list, window) => ({ ...list.answer(window), total: 1e9 })],
  ['a total that is too low', 'total-mismatch', (list, window) => ({ ...list.answer(window), total: 50 })],
  ['no total', 'total-mismatch', (list, window) => ({ ...list.answer(window), total: undefined })],
  [
    'a total that grows for ever',
    'short-page',
    (list, window, answered) => ({ ...list.answer(window), total: ROWS + 100 * answered }),
  ],
  [
    'a list that grows for ever',
    'page-cap',
    (list, window) => {
      for (let made = 0; made < 120; made++) list.insert()
      return list.answer(window)
    },
  ],
  [
    'page 1 under every number',
    'repeated-page',
    (list, window) => ({ ...list.answer({ ...window, page: 1 }), window }),
  ],
  [
    'page 1 with its own number',
    'page-mismatch',
    (list, window) => (window.page > 1 ? 'page-mismatch' : list.answer(window)),
  ],
  [
    'more rows than a page holds',
    'page-mismatch',
    (list, window) => ({ ...list.answer({ page: 1, size: 300 }), window, perPage: window.size }),
  ],
  ['only empty pages', 'short-page', (list, window) => ({ ...list.answer(window), rows: [] })],
  [
    'an empty list after two pages of it',
    'short-page',
    (list, window, answered) => ({ ...list.answer(window), ...(answered > 1 && { rows: [], total: 0 }) }),
  ],
  ['an error for everything', 'hole', () => 'hole'],
  ['a refusal of every size', 'size-refused', () => 'size-refused'],
  [
    'the same row twice',
    'duplicate-id',
    (list, window) => {
      const answer = list.answer(window)
      return { ...answer, rows: answer.rows.map((row, place) => (place === 7 ? (answer.rows[6] ?? row) : row)) }
    },
  ],
  [
    'a record without an id',
    'rejected-without-id',
    (list, window) => {
      const answer = list.answer(window)
      const blank = (place: number) => window.size * (window.page - 1) + place === 340
      return { ...answer, rows: answer.rows.map((row, place) => (blank(place) ? { ...row, id: undefined } : row)) }
    },
  ],
]

const ORDERS = ['id asc', 'name', 'shuffled'] as const

test.each(LIES)('%s: the scan ends within its caps, unproven, with the reasons %s', (_lie, reason, misbehave) => {
  for (const parallel of [1, 6]) {
    for (const order of someOf(ORDERS)) {
      const { certificate, requests } = scanOf(misbehave, { parallel, order })
      expect(certificate.proof).toBe('unproven')
      if (order !== 'shuffled') expect(certificate.reasons).toContain(reason)
      expect(requests).toBeLessThan(200)
    }
  }
})

/** Page 2 under every later number, in pages of the size that is served. */
const page2Behind =
  (served: (size: number) => number): Misbehaviour =>
  (list, window) => ({ ...resized(list, { ...window, page: Math.min(2, window.page) }, served(window.size)), window })

test.each([
  ['of at most 5', (size: number) => Math.min(5, size), 300],
  ['of 4, whatever the size asked for,', () => 4, 120],
  ['of one row, whatever the size asked for,', () => 1, 3.2 * ROWS],
])(
  'pages %s of which the second stands behind it too are not asked for to the end, or again and again',
  (_, served, most) => {
    for (const parallel of [1, 6]) {
      const { certificate, requests } = scanOf(page2Behind(served), { parallel })
      expect(certificate.proof).toBe('unproven')
      expect(requests).toBeLessThan(most)
    }
  },
)

const FAULTS: [string, Misbehaviour][] = [
  [
    'at most 60 rows a page, whatever size the answer states',
    (list, window) => ({ ...list.answer(window), rows: list.answer(window).rows.slice(0, 60) }),
  ],
  [
    'a page that is short once',
    (list, window, answered) => ({ ...list.answer(window), ...(answered === 4 && { rows: [] }) }),
  ],
  [
    'an answer that calls the list empty once',
    (list, window, answered) => ({ ...list.answer(window), ...(answered === 4 && { rows: [], total: 0 }) }),
  ],
  [
    'a page 4 that is always empty',
    (list, window) => ({ ...list.answer(window), ...(window.page === 4 && { rows: [] }) }),
  ],
  [
    'a page 5 that repeats page 4',
    (list, window) => ({ ...list.answer({ ...window, page: window.page === 5 ? 4 : window.page }), window }),
  ],
  [
    'large pages that fail at one place',
    (list, window) => (window.size > 60 && window.page === 4 ? 'hole' : list.answer(window)),
  ],
  ['at most 50 rows a page', (list, window) => resized(list, window, Math.min(50, window.size))],
  ['a refusal of pages over 50', (list, window) => (window.size > 50 ? 'size-refused' : list.answer(window))],
  [
    '404 beyond the last page',
    (list, window) => ({ ...list.answer(window), beyondEnd: window.size * (window.page - 1) >= ROWS }),
  ],
  ['a page 4 that is never found', (list, window) => (window.page === 4 ? notFound(window) : list.answer(window))],
]

test.each(FAULTS)('%s: read around, and proven, or settled where no order is shown', (_fault, misbehave) => {
  for (const parallel of [1, 6]) {
    for (const order of ['id asc', 'name'] as const) {
      const { certificate, lost } = scanOf(misbehave, { parallel, order })
      expect(certificate.proof).toBe(order === 'name' ? 'settled' : 'proven')
      expect(lost).toBe(0)
    }
  }
})

const FIXED: [string, Misbehaviour][] = [
  ['refuses', (list, window) => ([10, 25, 50, 100].includes(window.size) ? list.answer(window) : 'size-refused')],
  ['ignores', (list, window) => resized(list, window, 15)],
  ['rounds', (list, window) => resized(list, window, [100, 50, 25, 10].find((size) => size <= window.size) ?? 10)],
  [
    'rounds and does not say so, in place of',
    (list, window) => {
      const served = list.answer({ page: window.page, size: Math.max(10, window.size - (window.size % 10)) })
      return { ...served, window, perPage: window.size }
    },
  ],
]

test.each(FIXED)(
  'a service that %s odd sizes is read at rest without losing a customer, and proves nothing',
  (_way, misbehave) => {
    for (const parallel of [1, 6]) {
      for (const order of ['id asc', 'name'] as const) {
        const { certificate, lost } = scanOf(misbehave, { parallel, order })
        expect(certificate).toMatchObject({ proof: 'unproven', isWhole: true })
        expect(lost).toBe(0)
      }
    }
  },
)

test.each([0, 1, 333, 949])('a poison row at position %i costs that one row', (poison) => {
  for (const parallel of [1, 6]) {
    const { certificate, lost } = scanOf((list, window) => (covers(window, poison) ? 'hole' : list.answer(window)), {
      parallel,
    })
    expect(certificate).toMatchObject({ proof: 'unproven', reasons: ['hole'], holes: [{ position: poison, size: 1 }] })
    expect(lost).toBe(1)
  }
})

test('a plain scan reads every page once and proves nothing', () => {
  const { certificate, requests, lost } = scanOf((list, window) => list.answer(window), { plain: true, parallel: 4 })
  expect(certificate).toMatchObject({ proof: 'unproven', reasons: ['plain-scan'] })
  expect(requests).toBe(10)
  expect(lost).toBe(0)
})

test.each(LIES)('%s: a plain scan ends as well', (_lie, _reason, misbehave) => {
  const { requests } = scanOf(misbehave, { plain: true, parallel: 4 })
  expect(requests).toBeLessThan(200)
})

test('a plain scan whose first page is refused for its size reads the list in pages of fifty', () => {
  for (const parallel of [1, 4]) {
    const asked: Window[] = []
    const { certificate, lost } = scanOf(
      (list, window) => {
        asked.push(window)
        return window.size > 50 ? 'size-refused' : list.answer(window)
      },
      { plain: true, parallel },
    )
    expect(certificate).toMatchObject({ reasons: ['plain-scan'], stoppedAt: undefined, pageSize: 50 })
    expect(lost).toBe(0)
    expect(asked[0]).toEqual({ page: 1, size: 100 })
    expect(asked.slice(1).toSorted((one, other) => one.page - other.page)).toEqual(
      Array.from({ length: ROWS / 50 }, (_, index) => ({ page: index + 1, size: 50 })),
    )
  }
})

test.each([true, false])('a first page refused in both sizes is the end of a scan (plain: %s)', (plain) => {
  const asked: number[] = []
  const { certificate } = scanOf((_list, { size }) => (asked.push(size), 'size-refused'), { plain })
  expect(asked).toEqual([100, 50])
  expect(certificate.reasons).toContain('size-refused')
})

test('a chain whose first page is refused for its size goes on with fifty', () => {
  const { certificate } = scanOf((list, window) => (window.size > 50 ? 'size-refused' : list.answer(window)))
  expect(certificate).toMatchObject({ proof: 'proven', pageSize: 50 })
})

test('a scan limited to one page reads one, in the size that is served', () => {
  for (const whole of [listScan({ isPlain: true }), listScan()]) {
    const luck = dice(7)
    const list = new SimulatedList(luck, { size: ROWS, order: 'id asc' })
    const answer = (window: Window) => (window.size > 50 ? 'size-refused' : list.answer(window))
    const scan = limitedScan(whole, 1)
    const { ids } = drive(scan, { answer }, { dice: luck })
    expect(scan.certificate().reasons).toEqual(['page-limit'])
    expect(ids.size).toBe(50)
  }
})

test('a page that cannot be read is one of the pages to which a scan is limited', () => {
  for (const whole of [listScan({ isPlain: true }), listScan()]) {
    const luck = dice(7)
    const list = new SimulatedList(luck, { size: ROWS, order: 'id asc' })
    const scan = limitedScan(whole, 3)
    const answer = (window: Window) => (window.page === 1 ? list.answer(window) : 'hole')
    const { requests } = drive(scan, { answer }, { dice: luck })
    expect(scan.certificate()).toMatchObject({ proof: 'unproven', reasons: ['page-limit'] })
    expect(requests).toBe(3)
  }
})

test.each([1, 4])('a plain scan with %i at once stops at a page that holds the rows of another', (parallel) => {
  const { certificate, requests } = scanOf((list, window) => ({ ...list.answer({ ...window, page: 1 }), window }), {
    plain: true,
    parallel,
  })
  expect(certificate).toMatchObject({ stoppedAt: { failure: 'repeated-page' } })
  expect(certificate.reasons).toContain('repeated-page')
  expect(requests).toBeLessThan(15)
})

test('pages side by side that hold the rows of another are no proof, and end the scan after one pass over them', () => {
  const stale: Misbehaviour = (list, window, answered) => {
    if (![50, 100].includes(window.size)) return 'size-refused'
    return { ...list.answer(answered > 2 ? { ...window, page: 1 } : window), window }
  }
  const { certificate, requests } = scanOf(stale, { order: 'name' })
  expect(certificate).toMatchObject({ proof: 'unproven' })
  expect(certificate.reasons).toContain('repeated-page')
  expect(requests).toBeLessThan(30)
})

const REFUSALS: [string, NonNullable<Certificate['stoppedAt']>['failure'], (window: Window) => Answer][] = [
  ['404', 'not-found', notFound],
  ['a refusal', 'size-refused', () => 'size-refused'],
  ['another page', 'page-mismatch', () => 'page-mismatch'],
  ['the same page', 'repeated-page', () => 'repeated-page'],
]

test.each(REFUSALS)(
  '%s for everything but page 1 and 2 of a million rows: %s, in few requests',
  (_, failure, refuse) => {
    const aRow = (position: number) => ({ id: String(position).padStart(9, '0'), createdAt: undefined })
    for (const [plain, only] of [
      [true, 0],
      [false, 0],
      [false, 50],
    ] as const) {
      const answer: Misbehaviour = (_list, window) => {
        if (window.size < only) return 'size-refused'
        if (window.page > 2) return refuse(window)
        const rows = Array.from({ length: window.size }, (_row, place) => aRow(window.size * (window.page - 1) + place))
        return { window, rows, total: 1_000_000, perPage: window.size, beyondEnd: false }
      }
      for (const parallel of [1, 6]) {
        const { certificate, requests } = scanOf(answer, { plain, parallel })
        expect(certificate).toMatchObject({ proof: 'unproven', stoppedAt: { failure } })
        expect(requests).toBeLessThan(150)
      }
    }
  },
)

test('404 for everything but page 1 and 2 of a million rows, in pages of fixed sizes: not-found, in few requests', () => {
  for (const parallel of [1, 6]) {
    const { certificate, requests } = scanOf(
      (list, window) => {
        if (window.size % 50 > 0) return 'size-refused'
        return window.page > 2 ? notFound(window) : { ...list.answer(window), total: 1_000_000 }
      },
      { parallel },
    )
    expect(certificate).toMatchObject({ proof: 'unproven', stoppedAt: { failure: 'not-found' } })
    expect(requests).toBeLessThan(50)
  }
})

test('a service that lowers its page size while it is read is read by the smaller pages', () => {
  const { certificate, lost } = scanOf((list, window, answered) =>
    answered < 3 ? list.answer(window) : resized(list, window, Math.min(window.size, 40)),
  )

  expect(certificate).toMatchObject({ stoppedAt: undefined, proof: 'unproven', isWhole: true })
  expect(lost).toBe(0)
})

test('a service that serves another size at every answer never comes to the end, and the scan says so', () => {
  const { certificate, requests } = scanOf((list, window, answered) =>
    answered < 3 ? list.answer(window) : resized(list, window, Math.max(1, window.size - 1 - (answered % 3))),
  )

  expect(certificate).toMatchObject({ proof: 'unproven', stoppedAt: { failure: 'page-mismatch' } })
  expect(requests).toBeLessThan(100)
})

test('a size refused while both ends are read once more does not leave the scan without an end', () => {
  for (let refused = 1; refused <= 8; refused++) {
    for (let seed = 1; seed <= seeds(20, { least: 5 }); seed++) {
      const luck = dice(seed)
      const list = new SimulatedList(luck, { size: 220, order: 'id asc' })
      const scan = listScan()
      let answered = 0
      const answer = (window: Window) => (answered++ === refused ? 'size-refused' : list.answer(window))
      const between = () => list.delete(10)
      drive(scan, { answer, between }, { dice: luck, parallel: 4 })
      expect(scan.done).toBe(true)
    }
  }
})

test.each(['id asc', 'created asc, id asc'] as const)(
  '%s: a row that one answer leaves out is read, or the scan is unproven',
  (order) => {
    const leavesOut: Misbehaviour = (list, window, answered) => {
      const answer = list.answer(window)
      if (answered !== 3) return answer
      const [next] = list.answer({ page: startOf(window) + window.size + 1, size: 1 }).rows
      return { ...answer, rows: [...answer.rows.toSpliced(50, 1), ...(next === undefined ? [] : [next])] }
    }

    const { certificate, lost } = scanOf(leavesOut, { order })

    if (certificate.proof !== 'unproven') expect(lost).toBe(0)
  },
)

test('a list with as many new customers as deleted ones between all answers is not read again for the sake of its total', () => {
  const changes: Misbehaviour = (list, window) => {
    list.insert()
    list.delete(1, list.size - 1)
    return list.answer(window)
  }

  const { certificate, lost } = scanOf(changes, { order: 'id asc' })

  expect({ proof: certificate.proof, lost }).toEqual({ proof: 'proven', lost: 0 })
})

test.each([
  ['every other answer', (answered: number) => answered % 2 === 0],
  ['every answer but the last ones', (answered: number) => answered < 20],
  ['every answer', () => true],
])('a list of small pages whose total is missing in %s is read to its end', (_what, isMissing) => {
  const luck = dice(5)
  const list = new SimulatedList(luck, { size: 120, order: 'name' })
  const scan = listScan({ pageSize: 5 })
  let answered = 0
  const answer = (window: Window) => {
    const whole = list.answer(window)
    return isMissing(answered++) ? { ...whole, total: undefined } : whole
  }
  const { ids } = drive(scan, { answer }, { dice: luck, parallel: 2 })

  expect(list.survivors().filter((id) => !ids.has(id))).toEqual([])
})

test.each([
  ['5,000 customers are read, and no limit of requests ends the scan', 5000, () => false, 0],
  ['a row that cannot be read does not end the list', ROWS, (window: Window) => covers(window, 340), 1],
])('without a total, %s', (_what, size, isBroken, lost) => {
  const luck = dice(5)
  const list = new SimulatedList(luck, { size, order: 'name' })
  const scan = listScan()
  const answer = (window: Window) => (isBroken(window) ? 'hole' : countless(list, window))
  const { ids, requests } = drive(scan, { answer }, { dice: luck, parallel: 2 })

  expect(list.survivors().filter((id) => !ids.has(id))).toHaveLength(lost)
  expect(scan.certificate()).toMatchObject({ proof: 'unproven', stoppedAt: undefined })
  expect(requests).toBeLessThan(1.2 * (size / 100) + 25)
})

test.each(['page-mismatch', 'size-refused', 'repeated-page'] as const)(
  'without a total, a plain scan has come to the end where the page behind a short one is refused: %s',
  (refusal) => {
    for (const parallel of [1, 4]) {
      const { certificate, lost } = scanOf(
        (list, window) => (startOf(window) < list.size ? countless(list, window) : refusal),
        { plain: true, parallel },
      )
      expect({ stoppedAt: certificate.stoppedAt, lost }).toEqual({ stoppedAt: undefined, lost: 0 })
    }
  },
)

test('without a total, the last page sent again and again in the place of pages behind it is the end', () => {
  for (const parallel of [1, 6]) {
    const { certificate, lost, requests } = scanOf(
      (list, window) => {
        const last = Math.ceil(list.size / window.size)
        return { ...countless(list, { ...window, page: Math.min(window.page, last) }), window }
      },
      { parallel },
    )
    expect({ stoppedAt: certificate.stoppedAt, lost }).toEqual({ stoppedAt: undefined, lost: 0 })
    expect(requests).toBeLessThan(30)
  }
})

const LEFT_OUT: [string, Misbehaviour][] = [
  [
    'a page lacks a row',
    (list, window) => {
      const answer = countless(list, window)
      return window.page === 4 ? { ...answer, rows: answer.rows.toSpliced(7, 1) } : answer
    },
  ],
  ['a row cannot be read', (list, window) => (covers(window, 340) ? 'hole' : countless(list, window))],
]

test.each(LEFT_OUT)('without a total, pages of fixed sizes are read to an empty one, where %s', (_what, misbehave) => {
  for (const parallel of [1, 6]) {
    for (const beyond of ['empty', 'refused'] as const) {
      const fixed: Misbehaviour = (list, window, answered) => {
        if (![25, 50, 100].includes(window.size) && window.size > 5) return 'size-refused'
        if (beyond === 'refused' && startOf(window) >= list.size) return 'page-mismatch'
        return misbehave(list, window, answered)
      }
      const { certificate, lost, requests } = scanOf(fixed, { parallel })
      expect(certificate).toMatchObject({ proof: 'unproven', stoppedAt: undefined })
      expect(lost).toBeLessThanOrEqual(1)
      expect(requests).toBeLessThan(60)
    }
  }
})

test.each(['id asc', 'serial'] as const)(
  '%s: pages rounded down to fifty that state the size asked for prove nothing, also where the list changes',
  (order) => {
    const luck = dice(3)
    for (let size = 110; size < 150; size += 1) {
      for (const isSwap of [true, false]) {
        const list = new SimulatedList(luck, { size, order })
        const scan = listScan()
        const between = () => {
          list.insert()
          if (isSwap || luck.chance(0.5)) list.delete(1, list.size - 2)
        }
        const answer = (window: Window): WindowAnswer => {
          const served = window.size > 50 && window.page > 1 ? 50 : window.size
          return { ...list.answer({ page: window.page, size: served }), window, perPage: window.size }
        }
        const { ids } = drive(scan, { answer, between }, { dice: luck })
        const lost = list.survivors().filter((id) => !ids.has(id)).length
        if (scan.certificate().proof !== 'unproven') expect({ size, isSwap, lost }).toEqual({ size, isSwap, lost: 0 })
      }
    }
  },
)
