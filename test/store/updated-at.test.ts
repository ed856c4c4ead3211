import { expect, test } from 'vitest'
import type { Mirror } from '../../src/model/mirror.ts'
import { aCustomer, aPage, customerId, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { DAY_MS, night } from './nights.ts'

/** A reader that remembers the greatest `updated_at` it has seen, and asks for what is greater. */
function aReader(file: string) {
  let seen = '1970-01-01'
  return (): unknown[] => {
    const rows = rowsOf(file, 'SELECT name, updated_at FROM customers WHERE updated_at > ? ORDER BY name', seen)
    seen = rows.reduce(
      (greatest, row) => (String(row['updated_at']) > greatest ? String(row['updated_at']) : greatest),
      seen,
    )
    return rows.map(({ name }) => name)
  }
}

const named = (...numbers: number[]) => numbers.map((n) => `Customer ${n}`)
const badRecord = (n: number) => ({ id: customerId(n), name: {} })

test('every visible change of a row is read by its updated_at, and nothing else is', async () => {
  const mirror = await aMirror()
  const changed = aReader(mirror.file)
  await night(mirror, 0, customers(1, 30))
  expect(changed()).toHaveLength(30)

  await night(mirror, 1, customers(1, 30))
  expect(changed()).toEqual([])
  await night(mirror, 2, [aCustomer(1, { phone: 'new' }), ...customers(2, 28)])
  expect(changed(), 'changed, and missing').toEqual(named(1, 29, 30))
  const list = [aCustomer(1, { phone: 'new' }), ...customers(2, 28)]
  await night(mirror, 3, [...list, aCustomer(30)])
  expect(changed(), 'removed, and no longer missing').toEqual(named(29, 30))
  await night(mirror, 4, [...list, ...customers(29, 30)])
  expect(changed(), 'returned').toEqual(named(29))
  await night(mirror, 5, list)
  await night(mirror, 6, list)
  expect(changed(), 'missing and removed').toEqual(named(29, 30))
  await night(mirror, 7, [...list, badRecord(30)])
  expect(changed(), 'returned in a reject').toEqual(named(30))
})

test('an absence that is only counted again changes nothing that readers see', async () => {
  const mirror = await aMirror()
  const rule = { after: 5, maxShare: 0.1 }
  await night(mirror, 0, customers(1, 30))
  await night(mirror, 1, customers(2, 30), { rule })
  const changed = aReader(mirror.file)
  changed()

  await night(mirror, 2, customers(2, 30), { rule })

  expect(changed()).toEqual([])
  expect(rowsOf(mirror.file, 'SELECT organization, proven, scans FROM absences')).toEqual([
    { organization: 'acme', proven: 2, scans: 2 },
  ])
})

test('a missing customer received in a reject is read as changed', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 30))
  await night(mirror, 1, customers(2, 30))
  const changed = aReader(mirror.file)
  changed()

  await night(mirror, 2, [badRecord(1), ...customers(2, 30)])

  expect(changed()).toEqual(named(1))
  expect(rowsOf(mirror.file, 'SELECT * FROM absences')).toEqual([])
})

test('a reader of updated_at gets a missing customer again after a search finds it', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 30))
  await night(mirror, 1, customers(2, 30))
  const changed = aReader(mirror.file)
  changed()
  const rule = { after: 2, maxShare: 0.1 }
  const removals = { rule, confirmed: new Set<string>(), found: new Set([1, 2].map(customerId)) }

  await night(mirror, 2, customers(3, 30), { ending: { removals } })

  expect(changed(), 'and not those who were not missing').toEqual(named(1))
  expect(rowsOf(mirror.file, 'SELECT * FROM absences')).toEqual([])
})

test('approved removals are read as changed', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 40))
  const { runId = 0 } = await night(mirror, 1, customers(1, 10))
  const changed = aReader(mirror.file)
  changed()

  await mirror.approveRemovals(runId, START_MS + 2 * DAY_MS)

  expect(changed()).toHaveLength(30)
})

test('a reader misses nothing of two organizations that are mirrored at once', async () => {
  const first = await aMirror()
  const second = await openMirror(first.file)
  const changed = aReader(first.file)
  const read: unknown[] = []
  const acme = await first.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  const globex = await second.startRun({ organization: 'globex', trigger: 'sync', nowMs: START_MS })
  // Each stamps its rows with its own clock, and one of them stands a minute behind.
  for (let page = 1; page <= 20; page += 1) {
    const ahead = page % 2 === 0
    const [mirror, run, atMs] = ahead ? [first, acme, START_MS + MINUTE_MS] : [second, globex, START_MS]
    await mirror.savePages(run, [aPage(page, [aCustomer(page)])], atMs)
    if (page % 3 !== 0) read.push(...changed())
  }
  read.push(...changed())
  await second.close()

  expect(read).toHaveLength(20)
  expect(new Set(read)).toEqual(new Set(named(...Array.from({ length: 20 }, (_, index) => index + 1))))
})

test('a reader misses nothing after the clock is set back, whichever process writes', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 3)], { atMs: START_MS + DAY_MS })
  const changed = aReader(mirror.file)
  changed()
  const rename = (target: Mirror, atMs: number, name: string) =>
    mirrorPages(target, [[aCustomer(1, { name }), ...customers(2, 3)]], { atMs })

  await rename(mirror, START_MS, 'Ada')
  expect(changed()).toEqual(['Ada'])
  await rename(mirror, START_MS, 'Grace')
  expect(changed()).toEqual(['Grace'])
  const later = await openMirror(mirror.file)
  await rename(later, START_MS - DAY_MS, 'Edsger')
  await later.close()
  expect(changed()).toEqual(['Edsger'])
})

test('after the clock is set back, absences and removals are dated by the clock, and read as changed', async () => {
  const mirror = await aMirror()
  await night(mirror, 9, customers(1, 30))
  const changed = aReader(mirror.file)
  changed()
  const dates = () =>
    rowsOf(mirror.file, 'SELECT missing_since, removed_at FROM customers WHERE id = ?', customerId(1))[0]

  await night(mirror, 1, customers(2, 30))
  expect(changed()).toEqual(named(1))
  expect(dates()).toEqual({ missing_since: '2026-01-06 02:00:00.000', removed_at: null })
  await night(mirror, 2, customers(2, 30))
  expect(changed()).toEqual(named(1))
  expect(dates()).toEqual({ missing_since: '2026-01-06 02:00:00.000', removed_at: '2026-01-07 02:00:00.000' })
})

test('a stamp is the current time while that is later than every stamp before', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 1)], { atMs: START_MS })
  await mirrorPages(mirror, [[aCustomer(1, { name: 'Ada' })]], { atMs: START_MS + MINUTE_MS })

  expect(valueOf(mirror.file, 'SELECT updated_at FROM customers')).toBe('2026-01-05 02:01:00.000')
})

test('a transaction that is rolled back leaves its stamp to the next one', async () => {
  const mirror = await aMirror()
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  const broken = { ...aPage(1, customers(1, 2)), received: 7 }
  await expect(mirror.savePages(run, [broken], START_MS)).rejects.toThrow('do not add up')

  await mirror.savePages(run, [aPage(1, customers(1, 2))], START_MS)

  expect(
    rowsOf(mirror.file, 'SELECT DISTINCT updated_at FROM customers UNION ALL SELECT updated_at FROM last_update'),
  ).toEqual([{ updated_at: '2026-01-05 02:00:00.000' }, { updated_at: '2026-01-05 02:00:00.000' }])
})

test('is_active follows removal and return', async () => {
  const mirror = await aMirror()
  const active = () => valueOf(mirror.file, 'SELECT is_active FROM customers WHERE id = ?', customerId(1))
  for (const [n, list] of [customers(1, 30), customers(2, 30)].entries()) await night(mirror, n, list)
  expect(active()).toBe(1)
  await night(mirror, 2, customers(2, 30))
  expect(active()).toBe(0)
  await night(mirror, 3, customers(1, 30))
  expect(active()).toBe(1)
  tamper(mirror.file, `UPDATE customers SET removed_at = '2026-01-05' WHERE id = ?`, customerId(1))
  expect(active(), 'removed by hand').toBe(0)
  await night(mirror, 4, [badRecord(1), ...customers(2, 30)])
  expect(active()).toBe(1)
})

test('absences are kept of customers who are absent now, and of no other', async () => {
  const mirror = await aMirror()
  const absent = () => rowsOf(mirror.file, 'SELECT row_id, proven, scans FROM absences')
  await night(mirror, 0, customers(1, 30))
  expect(absent()).toEqual([])
  await night(mirror, 1, customers(3, 30))
  expect(absent()).toEqual([
    { row_id: 1, proven: 1, scans: 1 },
    { row_id: 2, proven: 1, scans: 1 },
  ])
  await night(mirror, 2, customers(2, 30))
  expect(absent()).toEqual([])
  await night(mirror, 3, customers(3, 30))
  await night(mirror, 4, customers(2, 30))
  expect(absent()).toEqual([])
  for (const n of [5, 6]) await night(mirror, n, customers(3, 30))
  expect(absent(), 'removed').toEqual([])
})
