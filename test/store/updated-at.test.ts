import { expect, test } from 'vitest'
import type { Mirror } from '../../src/model/mirror.ts'
import { aCustomer, customerId, customers, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, rowsOf } from '../support/mirror-file.ts'
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
