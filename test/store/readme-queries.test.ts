import { expect, test } from 'vitest'
import { blocksIn, PAGES } from '../support/documents.ts'
import { HOW_MANY_NIGHTS, playNight } from '../support/full-mirror.ts'
import { aMirror, rowsOf } from '../support/mirror-file.ts'

const QUERIES = PAGES.filter(({ name }) => name === 'README.md')
  .flatMap((page) => blocksIn(page, 'sql'))
  .map(({ text }) => text.trim())

/** What the nights of the tests hold, in place of the example's. */
const HELD = [
  ['ada@example.com', 'customer-7@example.com'],
  ['2026-03-01', '2026-01-01'],
  ['1200', '0'],
] as const

test('each query of the README finds what the mirror holds, on either database', async () => {
  const mirror = await aMirror()
  for (let night = 0; night < HOW_MANY_NIGHTS; night += 1) await playNight(mirror, night)

  expect(QUERIES).toHaveLength(5)
  const found = QUERIES.map((query) =>
    rowsOf(
      mirror.file,
      HELD.reduce((sql, [example, held]) => sql.replaceAll(example, held), query),
    ),
  )
  const [languages = [], persons = [], days = [], changes = [], fresh = []] = found
  const active = rowsOf(mirror.file, 'SELECT count(*) AS number FROM active_customers')
  expect(Object.keys(languages[0] ?? {})).toEqual(['organization', 'language', 'customers'])
  expect(languages.reduce((sum, { customers }) => sum + Number(customers), 0)).toBe(Number(active[0]?.['number']))
  expect(persons[0]).toMatchObject({ organization: 'acme', name: 'Customer 7', removed_at: null })
  expect(days.length).toBeGreaterThan(5)
  expect(changes.map(({ change }) => change)).toEqual(expect.arrayContaining(['added', 'removed', 'returned']))
  expect(fresh.map(({ organization }) => organization)).toEqual(['acme', 'globex'])
})
