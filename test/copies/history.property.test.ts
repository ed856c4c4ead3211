import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { aMirror, rowsOf } from '../support/mirror-file.ts'
import { seeds } from '../support/seeds.ts'
import { playNights, someNights, VALUES, type Snapshot } from './random-organizations.ts'

const AT = `SELECT id, ${VALUES} FROM customers_history
  WHERE organization = ? AND valid_from <= ? AND (valid_to IS NULL OR valid_to > ?)`

test('after any nights, the history holds each customer as readers found it after each of them', async () => {
  await fc.assert(
    fc.asyncProperty(someNights, async (nights) => {
      const mirror = await aMirror()
      const snapshots = await playNights(mirror, nights)

      for (const { organization, time, active } of snapshots) {
        const then = rowsOf(mirror.file, AT, organization, time, time).map(
          ({ id, ...values }) => [String(id), values] as const,
        )
        expect(then).toHaveLength(active.size)
        expect(new Map(then)).toEqual(active)
      }
    }),
    { numRuns: seeds(100, { least: 3, every: 40 }) },
  )
})

test('after any nights, each change is dated after the last trusted scan that saw the old value', async () => {
  await fc.assert(
    fc.asyncProperty(someNights, async (nights) => {
      const mirror = await aMirror()
      const snapshots = await playNights(mirror, nights)

      for (const row of rowsOf(mirror.file, 'SELECT * FROM customers_history')) {
        const { organization, id, opened_by, closed_by, valid_from, valid_to } = row
        const own = snapshots.filter((snapshot) => snapshot.organization === organization)
        const before = (time: unknown, isIt: (night: Snapshot) => boolean = () => true) =>
          own.filter((night) => night.proof !== 'unproven' && night.time < String(time) && isIt(night)).at(-1)?.time ??
          null
        expect(row['valid_from_after']).toBe(opened_by === 'listed' ? null : before(valid_from))
        if (closed_by === 'changed') expect(row['valid_to_after']).toBe(before(valid_to))
        if (closed_by === 'removed') {
          const sinceAbsent = own
            .filter(({ time }) => time <= String(valid_to))
            .findLast(({ absent }) => !absent.has(String(id)))
          const lastSeen = before(valid_to, ({ time }) => time <= (sinceAbsent?.time ?? ''))
          expect(row['valid_to_after']).toBe(lastSeen)
        }
        if (closed_by === null) expect([valid_to, row['valid_to_after']]).toEqual([null, null])
      }
    }),
    { numRuns: seeds(100, { least: 3, every: 40 }) },
  )
})
