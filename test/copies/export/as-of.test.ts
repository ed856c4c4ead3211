import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { utcMoment } from '../../../src/time/moments.ts'
import { aCustomer, customers, START_MS } from '../../support/builders.ts'
import { aMirror } from '../../support/mirror-file.ts'
import { DAY_MS, night } from '../../store/nights.ts'
import { seeds } from '../../support/seeds.ts'
import { playNights, someNights } from '../random-organizations.ts'
import { exportedFrom } from './exported.ts'

/** The moment of night `n`, when the mirror saves what it finds. */
const ofNight = (n: number, laterMs = 0) => {
  const [day = '', time = ''] = new Date(START_MS + n * DAY_MS + laterMs).toISOString().split('T')
  return `${day} ${time.replace('Z', '')}`
}

test('organizations that were first read later are left out, and named', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 3))
  await night(mirror, 2, customers(1, 4), { organization: 'globex' })
  const { rows, done } = await exportedFrom(mirror.file, { asOf: ofNight(1) })

  expect(rows).toHaveLength(3)
  expect(done).toMatchObject({ leftOut: [{ organization: 'globex', firstReadAt: ofNight(2) }] })
})

test('a time after the last reading has the customers of that reading, and names it', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 3))
  await night(mirror, 2, customers(1, 4), { organization: 'globex' })
  const { rows, done } = await exportedFrom(mirror.file, { asOf: ofNight(2, 1) })

  expect(rows).toHaveLength(7)
  expect(done).toMatchObject({
    readBefore: [
      { organization: 'acme', readAsOf: ofNight(0) },
      { organization: 'globex', readAsOf: ofNight(2) },
    ],
  })
})

test.each([
  [
    'before the first complete run',
    ofNight(0, -1),
    /is before the first complete run, which ended at 2026-01-05 02:00:/,
  ],
  ['in the future', '2999-01-01 00:00:00.000', /lies in the future: it is \d{4}-.* UTC now\./],
])('a time %s is an error, and nothing is written', async (_, asOf, said) => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 3))

  await expect(exportedFrom(mirror.file, { asOf })).rejects.toThrow(said)
})

test('after a clock that was set back, each customer is what the last change dated until then made of it', async () => {
  const mirror = await aMirror()
  const rule = { after: 1, maxShare: 1 }
  await night(mirror, 0, customers(1, 3))
  await night(mirror, 10, [aCustomer(1, { name: 'Ahead' }), aCustomer(2, { name: 'Ahead' }), aCustomer(3)], { rule })
  await night(mirror, 2, [aCustomer(1, { name: 'Back' }), aCustomer(3)], { rule })
  const namesOf = async (n: number) =>
    (await exportedFrom(mirror.file, { asOf: ofNight(n) })).rows.map(({ name }) => String(name))

  expect((await namesOf(1)).toSorted()).toEqual(['Customer 1', 'Customer 2', 'Customer 3'])
  for (const n of [2, 5, 10, 11]) expect((await namesOf(n)).toSorted(), `night ${n}`).toEqual(['Back', 'Customer 3'])
})

test('after any nights, each of them is exported as readers found it then', async () => {
  await fc.assert(
    fc.asyncProperty(someNights, async (nights) => {
      const mirror = await aMirror()
      for (const { organization, time, active } of await playNights(mirror, nights)) {
        const { rows } = await exportedFrom(mirror.file, { asOf: time, organizations: [organization] })
        const names = new Map(rows.map(({ id, name }) => [id, name]))

        expect(rows).toHaveLength(active.size)
        expect(names).toEqual(new Map([...active].map(([id, values]) => [id, values['name']])))
      }
    }),
    { numRuns: seeds(40, { least: 2, every: 20 }) },
  )
})

test.each([
  ['2026-03-01', '2026-03-01 00:00:00.000'],
  ['2026-03-01 14:30', '2026-03-01 14:30:00.000'],
  ['2026-03-01 14:30:15.123', '2026-03-01 14:30:15.123'],
  ['2026-03-01T14:30:15.5Z', '2026-03-01 14:30:15.500'],
  ['2026-03-01T00:30:00,25+01:00', '2026-02-28 23:30:00.250'],
  [' 2026-03-01T14:30:00-0800 ', '2026-03-01 22:30:00.000'],
  ['2026-02-30', null],
  ['2026-03-01 24:00', null],
  ['yesterday', null],
  ['', null],
])('the time %j is read as %j', (text, moment) => {
  expect(utcMoment(text)).toBe(moment)
})
