import { expect, test } from 'vitest'
import { exportedFrom } from './exported.ts'
import { night } from '../../store/nights.ts'
import { CLOCKS, organizationsOf } from '../../store/organizations.ts'
import { customers } from '../../support/builders.ts'
import { publishedFrom } from '../../support/full-mirror.ts'
import { aMirror } from '../../support/mirror-file.ts'

test('an export says which of its organizations are retired, from the mirror and from a copy', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 3))
  await night(mirror, 0, customers(4, 5), { organization: 'globex' })
  await (await organizationsOf(mirror.file)).retire('globex', CLOCKS)
  const expected = [
    { organization: 'acme', retiredAt: null },
    { organization: 'globex', retiredAt: '2026-01-14 02:00:00.000' },
  ]

  for (const file of [mirror.file, publishedFrom(mirror)]) {
    const { facts, rows } = await exportedFrom(file)
    expect(facts?.organizations).toMatchObject(expected)
    expect(rows.length).toBe(3)
  }
})
