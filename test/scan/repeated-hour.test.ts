import { expect, test } from 'vitest'
import { chainScan } from '../../src/scan/chain-scan.ts'
import { lieInRepeatedHours } from '../../src/scan/window/repeated-hours.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { BERLIN, type Clocks, LocalTimeList, LORD_HOWE } from '../support/local-time-list.ts'
import { playLocalTimes } from '../support/local-time-nights.ts'
import { seeds } from '../support/seeds.ts'

type Reading = { size: number; stepSeconds: number; clocks?: Clocks; insertsAt?: number; isLastChange?: boolean }

function read(reading: Reading) {
  const luck = dice(1)
  const local = new LocalTimeList(luck, reading)
  const scan = chainScan()
  let answers = 0
  const between = () => {
    answers += 1
    local.list.insert()
    if (answers === 4) local.list.delete(1, 5)
  }
  const { ids, requests } = drive(
    scan,
    { answer: (window) => local.answer(window), between },
    { dice: luck, parallel: 4 },
  )
  return { certificate: scan.certificate(), requests, lost: local.list.survivors().filter((id) => !ids.has(id)).length }
}

test.each([
  ['one hour, twenty customers in it', { size: 900, stepSeconds: 180 }],
  ['one hour, forty customers in it', { size: 1500, stepSeconds: 90 }],
  ['one hour, two years running', { size: 2500, stepSeconds: 14_400 }],
  ['half an hour, in autumn of the south', { size: 900, stepSeconds: 120, clocks: LORD_HOWE }],
] as const)('local times that run backwards (%s) leave the order of creation as a witness', (_, reading) => {
  const { certificate, requests, lost } = read(reading)

  expect(certificate).toMatchObject({ proof: 'proven', basis: 'witness', passes: 1 })
  expect(lost).toBe(0)
  expect(requests).toBeLessThan((reading.size / 100) * 1.5 + 10)
})

test.each([
  ['Europe/Berlin', ['2024-10-27 02:00:00', '2024-10-27 02:59:59']],
  ['Europe/London', ['2024-10-27 01:00:00', '2024-10-27 01:59:59']],
  ['Europe/Helsinki', ['2024-10-27 03:00:00', '2024-10-27 03:59:59']],
  ['America/New_York', ['2024-11-03 01:00:00', '2024-11-03 01:59:59']],
  ['Australia/Sydney', ['2024-04-07T02:00:00', '2024-04-07T02:59:59.9']],
  ['Australia/Lord_Howe', ['2024-04-07 01:30:00', '2024-04-07 01:59:59']],
] as const)('the hour that comes twice in %s is known', (_, [first, last]) => {
  expect(lieInRepeatedHours(first, last)).toBe(true)
  expect(lieInRepeatedHours(`${first}Z`, `${last}Z`)).toBe(false)
  expect(lieInRepeatedHours(`${first}+02:00`, last)).toBe(false)
})

test.each([
  ['2024-10-26 02:00:00', '2024-10-26 02:59:59'],
  ['2024-10-20 02:00:00', '2024-10-20 02:59:59'],
  ['2024-10-27 05:00:00', '2024-10-27 05:59:59'],
  ['2024-10-27 01:30:00', '2024-10-27 02:30:00'],
  ['2024-07-07 02:00:00', '2024-07-07 02:59:59'],
  ['2024-10-27 02:00:00', '2023-10-29 02:00:00'],
  ['2024-10-27', '2024-10-27 02:00:00'],
  ['', ''],
])('%s and %s are not hours that come twice', (one, other) => {
  expect(lieInRepeatedHours(one, other)).toBe(false)
})

test('the rules agree with those of every large zone, for twenty years', () => {
  for (const timeZone of LARGE_ZONES) {
    const zone = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
    const local = (at: number) => zone.format(at)
    const offset = (at: number) => Date.parse(`${local(at).replace(' ', 'T')}Z`) - at
    for (let week = Date.UTC(2016); week < Date.UTC(2036); week += WEEK_MS) {
      if (offset(week) <= offset(week + WEEK_MS)) continue
      const at = firstAfterChange(offset, week)
      expect([timeZone, local(at), local(at - 1000), lieInRepeatedHours(local(at), local(at - 1000))]).toContain(true)
    }
  }
})

test('no list of local times is proven while a customer is unread', () => {
  const lists = seeds(120)
  let proven = 0
  for (const { seed, certificate, lost } of playLocalTimes(lists)) {
    if (certificate.proof === 'proven') proven += 1
    expect({ seed, reasons: certificate.reasons }).not.toMatchObject({ reasons: expect.arrayContaining(['page-cap']) })
    if (lost > 0) expect({ seed, proof: certificate.proof }).not.toEqual({ seed, proof: 'proven' })
  }
  expect(proven).toBeGreaterThan((lists * 2) / 3)
})

const LARGE_ZONES = [
  ...['Europe/Berlin', 'Europe/Paris', 'Europe/London', 'Europe/Athens', 'Europe/Lisbon', 'Atlantic/Azores'],
  ...[
    'America/New_York',
    'America/Chicago',
    'America/Denver',
    'America/Los_Angeles',
    'America/Halifax',
    'America/St_Johns',
  ],
  ...['Australia/Sydney', 'Australia/Adelaide', 'Australia/Lord_Howe', 'Pacific/Auckland', 'Australia/Hobart'],
  ...['America/Sao_Paulo', 'Asia/Jerusalem', 'Asia/Beirut'],
]
const WEEK_MS = 7 * 86_400_000

/** The first second after clocks are set back in the week. */
function firstAfterChange(offset: (at: number) => number, week: number): number {
  let [before, after] = [week, week + WEEK_MS]
  while (after - before > 1000) {
    const middle = Math.floor((before + after) / 2000) * 1000
    if (offset(middle) === offset(week)) before = middle
    else after = middle
  }
  return after
}

test('the clocks of the simulated lists show an hour twice', () => {
  const local = new LocalTimeList(dice(1), { size: 40, stepSeconds: 600, clocks: BERLIN })
  const times = local.answer({ page: 1, size: 40 }).rows.map((row) => (typeof row === 'object' ? row.createdAt : ''))
  expect(times).toContain('2023-10-29 02:50:00')
  expect(times.indexOf('2023-10-29 02:50:00')).toBeLessThan(times.lastIndexOf('2023-10-29 02:00:00'))
})
