import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { playNights, type Snapshot, someNights } from './random-organizations.ts'
import { aMirror, type Row, rowsOf } from '../support/mirror-file.ts'
import { seeds } from '../support/seeds.ts'

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
