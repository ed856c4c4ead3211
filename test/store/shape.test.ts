import { expect, test } from 'vitest'
import type { Mirror } from '../../src/model/mirror.ts'
import { customers, customerId, START_MS } from '../support/builders.ts'
import { aMirror, rowsOf, valueOf } from '../support/mirror-file.ts'
import { DAY_MS, night, quickRun } from './nights.ts'

const ALL = customers(1, 60, { phone: '1' })
/** The same list, in which the first customers have no phone. */
const without = (count: number) => [...customers(1, count, { phone: null }), ...ALL.slice(count)]
/** The same list, of which the first records are rejected. */
const wrapped = (count: number) => [...customers(1, count, { address: { line: 'x' } }), ...ALL.slice(count)]

const CHANGED = { proof: 'unproven', status: 'complete' } as const

test('a field that many customers lose at once keeps its values, and the run says which one and how many', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL)

  for (const n of [2, 3]) {
    const report = await night(mirror, n, without(21))
    expect(report).toMatchObject({ ...CHANGED, reasons: ['shape-changed'], unchanged: 60, missing: 0 })
    expect(await mirror.findRun(report.runId ?? 0)).toMatchObject({
      certificate: { shape: [{ field: 'phone', customers: 21, isRejected: false }] },
    })
    expect(phones(mirror)).toBe(60)
  }
  expect(rowsOf(mirror.file, 'SELECT * FROM changes')).toEqual([])
})

test('a field that few customers lose is emptied when the run ends, and each is an update', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL)

  const report = await night(mirror, 2, without(20))

  expect(report).toMatchObject({ proof: 'proven', updated: 20, unchanged: 40 })
  expect(await mirror.findRun(report.runId ?? 0)).toMatchObject({ updated: 20, unchanged: 40 })
  expect(phones(mirror)).toBe(40)
  expect(valueOf(mirror.file, 'SELECT fields FROM changes WHERE id = ?', customerId(1))).toBe('{"phone":["1",null]}')
  expect(await night(mirror, 3, without(20))).toMatchObject({ proof: 'proven', updated: 0, unchanged: 60 })
})

test('a customer who changes and loses fields in one run is one update, and has one entry in the feed', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL)

  const changed = customers(1, 2, { phone: null, company_name: null, name: 'New' })
  const report = await night(mirror, 2, [...changed, ...ALL.slice(2)])

  expect(report).toMatchObject({ proof: 'proven', updated: 2, unchanged: 58 })
  const fed = rowsOf(mirror.file, 'SELECT change, fields FROM changes ORDER BY id')
  expect(fed.map(({ change, fields }) => [change, Object.keys(JSON.parse(String(fields))).toSorted()])).toEqual([
    ['changed', ['company_name', 'name', 'phone']],
    ['changed', ['company_name', 'name', 'phone']],
  ])
})

test('many records that are rejected of known customers change the shape, night after night, and no date of reading moves', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL)

  for (const n of [2, 3]) {
    const report = await night(mirror, n, wrapped(60))
    expect(report).toMatchObject({ ...CHANGED, reasons: ['shape-changed'], rejected: 60 })
    expect(await mirror.findRun(report.runId ?? 0)).toMatchObject({
      certificate: { shape: [{ field: 'address', customers: 60, isRejected: true }] },
    })
  }
  const readAt = START_MS + DAY_MS
  expect(await mirror.listFreshness()).toMatchObject([
    { readAsOfMs: readAt, provenAsOfMs: readAt, why: ['shape-changed'] },
  ])
})

test('a shape that a person accepts is stored by the next run, and guarded from then on', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL)
  await night(mirror, 2, without(60))

  expect(await mirror.acceptShape('acme', START_MS + 2 * DAY_MS + 1)).toEqual([
    { field: 'phone', customers: 60, isRejected: false },
  ])

  expect(await night(mirror, 3, without(60))).toMatchObject({ proof: 'proven', updated: 60 })
  expect(phones(mirror)).toBe(0)
  await night(mirror, 4, ALL)
  expect(await night(mirror, 5, without(60))).toMatchObject(CHANGED)
})

test('fields that more than half of the customers gain are named on the night they come', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, [...customers(1, 40), ...customers(41, 60, { tier: 'old' })])
  const list = [...customers(1, 31, { tier: 1, score: 2 }), ...customers(32, 60, { score: 2 }).slice(0, 20)]
  const certified = { ending: { certificate: { proof: 'proven' } } }

  const report = await night(mirror, 2, [...list, ...customers(52, 60)], certified)

  expect(report).toMatchObject({ proof: 'proven', updated: expect.any(Number) })
  expect(await mirror.findRun(report.runId ?? 0)).toMatchObject({ certificate: { newFields: ['score', 'tier'] } })
  const next = await night(mirror, 3, [...list, ...customers(52, 60)], certified)
  expect(await mirror.findRun(next.runId ?? 0)).toMatchObject({ certificate: { proof: 'proven' } })
  expect(await mirror.findRun(next.runId ?? 0)).not.toMatchObject({ certificate: { newFields: expect.anything() } })
})

test('a quick run empties no field: the next full run decides', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL)

  await quickRun(mirror, 1, without(5))

  expect(phones(mirror)).toBe(60)
  expect(await night(mirror, 2, without(5))).toMatchObject({ proof: 'proven', updated: 5 })
  expect(phones(mirror)).toBe(55)
})

function phones(mirror: Mirror): unknown {
  return valueOf(mirror.file, 'SELECT count(phone) FROM customers')
}
