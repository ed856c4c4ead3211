import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { TEXT_FIELDS } from '../../src/model/customer.ts'
import { noRecords } from '../../src/model/report.ts'
import { aCustomer, anEnding, aPage, customerId, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { seeds } from '../support/seeds.ts'
import { aMirrorOf } from './nights.ts'

const LATER = { atMs: START_MS + MINUTE_MS }
const LATER_TEXT = '2026-01-05 02:01:00.000'

test('a change of any field is seen, stored, dated and recorded with both values', async () => {
  const mirror = await aMirror()
  const fields = [...TEXT_FIELDS, 'vip']
  const page = (value: string) => fields.map((field, at) => aCustomer(at + 1, { [field]: value }))
  const dates = () => rowsOf(mirror.file, 'SELECT DISTINCT first_seen_at, changed_at, updated_at FROM customers')
  await mirrorPages(mirror, [page('before')])
  const first = '2026-01-05 02:00:00.000'
  expect(dates()).toEqual([{ first_seen_at: first, changed_at: first, updated_at: first }])

  await mirrorPages(mirror, [page('after')], LATER)

  expect(dates()).toEqual([{ first_seen_at: first, changed_at: LATER_TEXT, updated_at: LATER_TEXT }])

  const changes = rowsOf(mirror.file, 'SELECT * FROM changes ORDER BY id')
  for (const [at, field] of fields.entries()) {
    const column = field === 'vip' ? 'extra' : field
    const told = column === 'extra' ? ['{"vip":"before"}', '{"vip":"after"}'] : ['before', 'after']
    const { fields: changed, ...change } = changes[at] ?? {}
    expect(change).toMatchObject({ id: customerId(at + 1), change: 'changed', changed_at: LATER_TEXT })
    expect(JSON.parse(String(changed))).toEqual({ [column]: told })
    expect(valueOf(mirror.file, `SELECT ${column} FROM customers WHERE id = ?`, customerId(at + 1))).toBe(told[1])
  }
  expect(changes).toHaveLength(fields.length)
})

test('any text comes through byte for byte, and is the same text the next time', async () => {
  const mirror = await aMirror()
  const units = fc.array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd7f0, max: 0xe010 })))
  const samples = fc.sample(units, { numRuns: seeds(300), seed: 20260105 })
  const texts = samples.map((codes) => String.fromCharCode(...codes))
  const page = texts.map((name, index) => aCustomer(index + 1, { name }))

  await mirrorPages(mirror, [page])

  const stored = rowsOf(mirror.file, 'SELECT hex(CAST(name AS BLOB)) AS name FROM customers ORDER BY id')
  const kept = texts.map((text) => Buffer.from(text.toWellFormed().replaceAll('\0', '\ufffd')))
  expect(stored.map(({ name }) => name)).toEqual(kept.map((bytes) => bytes.toString('hex').toUpperCase()))
  expect(await mirrorPages(mirror, [page], LATER)).toMatchObject({ unchanged: texts.length })
})

const BROKEN = aCustomer(2, { name: { first: 'Ada' } })
const RENAMED = aCustomer(1, { name: 'Renamed' })
const EMPTIED = aCustomer(1, { phone: null })

test.each<[what: string, saves: readonly (readonly unknown[])[][], counts: object, warnings: object]>([
  ['a broken record in one save', [[[BROKEN], [BROKEN]]], { rejected: 1, duplicates: 1 }, {}],
  ['a broken record in two saves', [[[BROKEN]], [[BROKEN]]], { rejected: 1, duplicates: 1 }, {}],
  ['a changed record in one save', [[[RENAMED], [RENAMED]]], { updated: 1, duplicates: 1 }, {}],
  ['a changed record in two saves', [[[RENAMED]], [[RENAMED]]], { updated: 1, duplicates: 1 }, {}],
  ['a lost value in one save', [[[EMPTIED, EMPTIED]]], { unchanged: 1, duplicates: 1 }, {}],
  ['a lost value in two saves', [[[EMPTIED]], [[EMPTIED]]], { unchanged: 1, duplicates: 1 }, {}],
  ['one in two versions', [[[RENAMED, aCustomer(1)]]], { updated: 1, duplicates: 1 }, { conflicting_duplicate: 1 }],
  [
    'one without a value first',
    [[[EMPTIED], [aCustomer(1)]]],
    { unchanged: 1, duplicates: 1 },
    { conflicting_duplicate: 1 },
  ],
  ['two records without an id', [[[{ name: 'A' }], [{ name: 'B' }]]], { rejected: 2 }, {}],
  ['a removed customer', [[[aCustomer(3), aCustomer(3)]]], { updated: 1, returned: 1, duplicates: 1 }, {}],
])('a record that comes more than once counts once, and the first is kept: %s', async (_, saves, counts, warnings) => {
  const mirror = await aMirrorOf(customers(1, 3))
  tamper(mirror.file, `UPDATE customers SET removed_at = '2026-01-05 02:00:00.000' WHERE row_id = 3`)
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: LATER.atMs })
  let number = 0
  for (const pages of saves) {
    const sorted = pages.map((records) => aPage((number += 1), records))
    await mirror.savePages(run, sorted, LATER.atMs)
  }
  const report = await mirror.finishRun(run, anEnding({ status: 'failed' }), LATER.atMs)

  const received = saves.flat(2).length
  expect(report).toMatchObject({ ...noRecords(), received, ...counts, warnings })
  expect(await mirror.listRejects({ limit: 9 })).toHaveLength(report.rejected)
  expect(valueOf(mirror.file, 'SELECT name FROM customers WHERE row_id = 1')).toBe(
    report.updated > 0 && report.returned === 0 ? 'Renamed' : 'Customer 1',
  )
})

test('customers_normalized has e-mail addresses and companies in one spelling, on either database', async () => {
  const mirror = await aMirror()
  const spelt = [
    { email: ' Ada@Example.COM ', company_name: 'ACME Gmbh' },
    { email: 'ada@example.com', company_name: ' acme GMBH' },
    { email: '  ', company_name: 'ÉCLAIR İzmir' },
    { email: null, company_name: null },
  ]
  await mirrorPages(mirror, [spelt.map((values, index) => aCustomer(index + 1, values))])

  const rows = rowsOf(mirror.file, 'SELECT email, company_name FROM customers_normalized ORDER BY id')
  expect(rows).toEqual([
    { email: 'ada@example.com', company_name: 'acme gmbh' },
    { email: 'ada@example.com', company_name: 'acme gmbh' },
    { email: null, company_name: 'Éclair İzmir' },
    { email: null, company_name: null },
  ])
})

const ANONYMOUS = { name: 'Nobody' }
const at = (night: number) => ({ atMs: START_MS + night * MINUTE_MS })

test('a reject that keeps coming is one row, with where it was, brought up to date, until a complete list lacks it; received later, it is opened again', async () => {
  const mirror = await aMirrorOf([BROKEN, ANONYMOUS])

  const worse = aCustomer(2, { name: { first: 'Ada' }, email: [] })
  const { runId } = await mirrorPages(mirror, [customers(10, 12), [ANONYMOUS, worse]], at(1))

  const rejects = rowsOf(mirror.file, 'SELECT * FROM rejects ORDER BY position')
  const both = { run_id: runId, page: 2, first_seen_at: '2026-01-05 02:00:00.000', seen_at: LATER_TEXT }
  expect(rejects).toMatchObject([
    { ...both, resolved_at: null, record_id: null, position: 0 },
    { ...both, resolved_at: null, record_id: customerId(2), position: 1, payload: JSON.stringify(worse) },
  ])
  expect(JSON.parse(String(rejects[1]?.['reasons']))).toHaveLength(2)
  const listed = { runId, page: 2, seenAtMs: at(1).atMs }
  const shown = [null, customerId(2)].map((recordId, position) => ({ ...listed, recordId, position }))
  expect(await mirror.listRejects({ limit: 10 })).toMatchObject(shown)

  await mirrorPages(mirror, [[aCustomer(2)]], at(2))
  expect(await mirror.listRejects({ limit: 10 })).toEqual([])
  expect(valueOf(mirror.file, 'SELECT resolved_at FROM rejects')).toBe('2026-01-05 02:02:00.000')
  expect(await mirror.listFreshness()).toMatchObject([{ openRejects: 0 }])
  await mirrorPages(mirror, [[BROKEN]], at(3))
  expect(await mirror.listRejects({ limit: 10 })).toMatchObject([{ recordId: customerId(2) }])
  expect(valueOf(mirror.file, 'SELECT count(*) FROM rejects')).toBe(3)
})
