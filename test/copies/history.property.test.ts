import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { aMirror, type Row, rowsOf } from '../support/mirror-file.ts'
import { seeds } from '../support/seeds.ts'
import { playNights, type Snapshot, someNights, VALUES } from './random-organizations.ts'

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

test('after any nights, each day has the numbers that comparing every night with the one before gives', async () => {
  await fc.assert(
    fc.asyncProperty(someNights, async (nights) => {
      const mirror = await aMirror()
      const snapshots = await playNights(mirror, nights)

      const daily = rowsOf(mirror.file, 'SELECT * FROM customers_daily ORDER BY organization, day')

      expect(daily).toEqual(
        ['acme', 'globex'].flatMap((name) => counted(snapshots.filter((s) => s.organization === name))),
      )
    }),
    { numRuns: seeds(150, { least: 4, every: 40 }) },
  )
})

/** One row for each day from the first night of an organization to its last, from the snapshots alone. */
function counted(nights: readonly Snapshot[]): Row[] {
  const rows: Row[] = []
  let before: Snapshot['active'] = new Map()
  const last = nights.at(-1)?.time.slice(0, 10) ?? ''
  for (let day = nights[0]?.time.slice(0, 10) ?? '9'; day <= last; day = dayAfter(day)) {
    const row = { organization: nights[0]?.organization, day, active: before.size, added: 0, removed: 0, changed: 0 }
    for (const { active } of nights.filter(({ time }) => time.startsWith(day))) {
      row.added += [...active.keys()].filter((id) => !before.has(id)).length
      row.removed += [...before.keys()].filter((id) => !active.has(id)).length
      row.changed += [...active].filter(([id, values]) => isOther(values, before.get(id))).length
      row.active = active.size
      before = active
    }
    rows.push(row)
  }
  return rows
}

function isOther(values: Row, before: Row | undefined): boolean {
  return before !== undefined && JSON.stringify(values) !== JSON.stringify(before)
}

function dayAfter(day: string): string {
  return new Date(Date.parse(day) + 24 * 3_600_000).toISOString().slice(0, 10)
}
