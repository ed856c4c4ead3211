import { expect, test } from 'vitest'
import { customers } from '../support/builders.ts'
import { aMirror, dump, rowsOf, valueOf } from '../support/mirror-file.ts'
import { night } from './nights.ts'
import { aMirrorWithEverything, CLOCKS, contentsOf, countsOf, organizationsOf } from './organizations.ts'

const RETIRED_AT = '2026-01-14 02:00:00.000'

test('every customer leaves active_customers with a change, and nothing is deleted', async () => {
  const { file } = await aMirrorWithEverything()
  const [before, others] = [countsOf(file, 'acme'), contentsOf(file, 'acme-two')]
  const active = valueOf(file, `SELECT COUNT(*) FROM active_customers WHERE organization = 'acme'`)
  const lastSeq = valueOf(file, 'SELECT MAX(seq) FROM changes')

  const retired = await (await organizationsOf(file)).retire('acme', CLOCKS)

  expect(retired).toEqual({ removed: active })
  expect(rowsOf(file, `SELECT 1 FROM active_customers WHERE organization = 'acme'`)).toEqual([])
  const lastRun = valueOf(file, `SELECT MAX(id) FROM runs WHERE organization = 'acme'`)
  expect(
    rowsOf(
      file,
      'SELECT organization, change, run_id, at, COUNT(*) AS n FROM changes WHERE seq > ? GROUP BY 1, 2, 3, 4',
      lastSeq,
    ),
  ).toEqual([{ organization: 'acme', change: 'removed', run_id: lastRun, at: RETIRED_AT, n: active }])
  const removed = 'removed_at = ? AND NOT is_active AND last_run_id = ? AND updated_at > ?'
  const marked = `SELECT COUNT(*) FROM customers WHERE organization = 'acme' AND ${removed}`
  expect(valueOf(file, marked, RETIRED_AT, lastRun, '2026-01-10')).toBe(active)
  expect(contentsOf(file, 'acme-two')).toEqual(others)
  const after = countsOf(file, 'acme')
  for (const table of ['customers', 'runs', 'rejects']) expect(after[table], table).toBe(before[table])
})

test('what only a next run would need is gone: its lease, its windows, its list, its held removals and its open rejects', async () => {
  const { file } = await aMirrorWithEverything()

  await (await organizationsOf(file)).retire('acme', CLOCKS)

  const internal = ['leases', 'lists', 'edited_customers', 'held_removals', 'absences']
  const left = countsOf(file, 'acme')
  expect(internal.filter((table) => left[table] !== 0)).toEqual([])
  expect(rowsOf(file, `SELECT 1 FROM windows JOIN runs ON runs.id = run_id WHERE organization = 'acme'`)).toEqual([])
  expect(rowsOf(file, `SELECT resolved_at FROM rejects WHERE organization = 'acme'`)).toEqual([
    { resolved_at: RETIRED_AT },
  ])
  expect(rowsOf(file, 'PRAGMA foreign_key_check')).toEqual([])
})

test('its next run ends the retirement, and its customers return', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 30))
  await (await organizationsOf(mirror.file)).retire('acme', CLOCKS)

  const report = await night(mirror, 10, [...customers(1, 28), ...customers(31, 31)])

  expect(report).toMatchObject({ returned: 28, inserted: 1, removed: 0, proof: 'proven' })
  expect(await mirror.listFreshness()).toMatchObject([{ retiredAtMs: undefined, active: 29, removed: 2 }])
  const counted = 'SELECT change, COUNT(*) AS n FROM changes GROUP BY change ORDER BY change'
  expect(rowsOf(mirror.file, counted)).toEqual([
    { change: 'added', n: 1 },
    { change: 'removed', n: 30 },
    { change: 'returned', n: 28 },
  ])
})

test('a copy that follows the changes has the active customers, through a retirement and a return', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 30))
  const copy = new Set(rowsOf(mirror.file, 'SELECT id FROM active_customers').map(({ id }) => String(id)))
  let seen = 0
  const follow = () => {
    for (const { seq, id, change } of rowsOf(mirror.file, 'SELECT * FROM changes WHERE seq > ? ORDER BY seq', seen)) {
      seen = Number(seq)
      if (change === 'removed') copy.delete(String(id))
      else copy.add(String(id))
    }
    return [...copy].toSorted((one, other) => (one < other ? -1 : 1))
  }
  const active = () => rowsOf(mirror.file, 'SELECT id FROM active_customers ORDER BY id').map(({ id }) => id)

  await night(mirror, 1, customers(3, 32))
  await night(mirror, 2, customers(3, 32))
  expect(follow()).toEqual(active())
  await (await organizationsOf(mirror.file)).retire('acme', CLOCKS)
  expect(follow()).toEqual([])
  await night(mirror, 10, customers(2, 25))
  expect(follow()).toEqual(active())
})

test('it is refused twice, and while a run has the organization, and nothing is changed', async () => {
  const mirror = await aMirrorWithEverything()
  const organizations = await organizationsOf(mirror.file)
  await organizations.retire('acme', CLOCKS)
  await mirror.startRun({ organization: 'acme-two', trigger: 'sync', nowMs: CLOCKS.nowMs })
  const before = dump(mirror.file)

  await expect(organizations.retire('acme', CLOCKS)).rejects.toMatchObject({
    code: 'usage',
    message: 'acme: is retired already, since 2026-01-14 02:00 UTC. Nothing was changed.',
  })
  await expect(organizations.retire('acme-two', CLOCKS)).rejects.toMatchObject({ code: 'leased' })
  expect(dump(mirror.file)).toEqual(before)
})
