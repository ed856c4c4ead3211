import { expect, test } from 'vitest'
import { aCustomer, aPage, customerId, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, rowsOf, valueOf } from '../support/mirror-file.ts'

const BROKEN = aCustomer(2, { name: { first: 'Ada' } })
const ANONYMOUS = { name: 'Nobody' }
const at = (night: number) => ({ atMs: START_MS + night * MINUTE_MS })

test('a record that cannot be kept as a customer is kept as a reject, with where it was and why', async () => {
  const mirror = await aMirror()

  const report = await mirrorPages(mirror, [customers(10, 19), [aCustomer(1), ANONYMOUS, BROKEN]])

  expect(report).toMatchObject({ received: 13, inserted: 11, rejected: 2 })
  expect(await mirror.listRejects({ limit: 10 })).toEqual([
    {
      organization: 'acme',
      runId: report.runId,
      recordId: null,
      page: 2,
      position: 1,
      payload: JSON.stringify(ANONYMOUS),
      reasons: [{ field: 'id', message: 'must be a UUID' }],
      seenAtMs: START_MS,
    },
    {
      organization: 'acme',
      runId: report.runId,
      recordId: customerId(2),
      page: 2,
      position: 2,
      payload: JSON.stringify(BROKEN),
      reasons: [{ field: 'name', message: 'must be text' }],
      seenAtMs: START_MS,
    },
  ])
})

test('a reject that keeps coming is one row, brought up to date', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [[BROKEN, ANONYMOUS]])

  const worse = aCustomer(2, { name: { first: 'Ada' }, email: [] })
  const { runId } = await mirrorPages(mirror, [customers(10, 12), [ANONYMOUS, worse]], at(1))

  const rejects = rowsOf(mirror.file, 'SELECT * FROM rejects ORDER BY position')
  expect(rejects).toMatchObject([
    { run_id: runId, record_id: null, page: 2, position: 0 },
    { run_id: runId, record_id: customerId(2), page: 2, position: 1, payload: JSON.stringify(worse) },
  ])
  for (const reject of rejects) {
    expect(reject).toMatchObject({ resolved_at: null, first_seen_at: '2026-01-05 02:00:00.000' })
    expect(reject).toMatchObject({ seen_at: '2026-01-05 02:01:00.000' })
  }
  expect(JSON.parse(String(rejects[1]?.['reasons']))).toHaveLength(2)
})

test('a reject is resolved by a complete list without it, and opened again when it is received again', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [[BROKEN]])

  await mirrorPages(mirror, [[aCustomer(2)]], at(1))
  expect(await mirror.listRejects({ limit: 10 })).toEqual([])
  expect(valueOf(mirror.file, 'SELECT resolved_at FROM rejects')).toBe('2026-01-05 02:01:00.000')

  await mirrorPages(mirror, [[BROKEN]], at(2))
  expect(await mirror.listRejects({ limit: 10 })).toMatchObject([{ recordId: customerId(2) }])
  expect(valueOf(mirror.file, 'SELECT count(*) FROM rejects')).toBe(2)
})

test.each([
  ['failed', { status: 'failed', readToEnd: false }],
  ['was stopped', { status: 'interrupted', readToEnd: false }],
  ['may have read a cached list', { readToEnd: false, reasons: ['cached-answer'] }],
] as const)('a run that %s resolves no reject', async (_, ending) => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [[BROKEN, ANONYMOUS]])

  await mirrorPages(mirror, [customers(10, 12)], { ...at(1), ending })

  expect(await mirror.listRejects({ limit: 10 })).toHaveLength(2)
})

test.each([
  ['a scan that proves nothing', { readToEnd: false, reasons: ['total-mismatch'] }, false],
  ['a quick run', { status: 'partial', readToEnd: false, reasons: ['quick'], trustedPages: 0 }, true],
] as const)(
  '%s resolves the reject of a customer whose record is valid again, and no other',
  async (_, ending, isPartial) => {
    const mirror = await aMirror()
    const other = aCustomer(3, { email: [] })
    await mirrorPages(mirror, [[aCustomer(2), aCustomer(3), aCustomer(4)]])
    await mirrorPages(mirror, [[BROKEN, ANONYMOUS, other, aCustomer(4, { email: [] })]], at(1))

    await mirrorPages(mirror, [[aCustomer(2), aCustomer(4)], [aCustomer(4, { email: [] })]], {
      ...at(2),
      ending,
      isPartial,
    })

    const open = await mirror.listRejects({ limit: 10 })
    expect(new Set(open.map(({ recordId }) => recordId))).toEqual(new Set([null, customerId(3), customerId(4)]))
    expect(valueOf(mirror.file, 'SELECT resolved_at FROM rejects WHERE record_id = ?', customerId(2))).toBe(
      '2026-01-05 02:02:00.000',
    )
  },
)

test('a customer with a broken record keeps its last good values, and is neither missing nor changed', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 3)])
  const before = rowsOf(mirror.file, 'SELECT * FROM customers ORDER BY id')

  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + MINUTE_MS })
  await mirror.savePages(run, [aPage(1, [aCustomer(1), BROKEN, aCustomer(3)])], START_MS + MINUTE_MS)

  expect(rowsOf(mirror.file, 'SELECT * FROM customers ORDER BY id')).toEqual(before)
  expect(run.rejectedIds).toContain(customerId(2))
})
