import fc from 'fast-check'
import { expect, test } from 'vitest'
import { columnsOf } from '../../../src/cli/output/say.ts'
import { runsTable } from '../../../src/cli/output/run-words.ts'
import { renderTable } from '../../../src/cli/output/table.ts'
import { emptyReport } from '../../../src/model/report.ts'
import { customerId, START_MS } from '../../support/builders.ts'

const HEAD = ['organization', 'status', 'new', 'removed', 'proof']
const ROWS = [
  ['acme', 'complete', 1200, 0, 'proven'],
  ['globex', 'failed: forbidden', 0, 0, '–'],
]

test('a file, a pipe and a wide terminal get every column', () => {
  const table = `organization  status               new  removed  proof
acme          complete           1,200        0  proven
globex        failed: forbidden      0        0  –
`
  expect(renderTable(HEAD, ROWS)).toBe(table)
  expect(renderTable(HEAD, ROWS, { columns: 55 })).toBe(table)
})

test('on a narrower terminal empty columns are left out, then cells are broken between words', () => {
  expect(renderTable(HEAD, ROWS, { columns: 54 })).toBe(`organization  status               new  proof
acme          complete           1,200  proven
globex        failed: forbidden      0  –
`)
  expect(renderTable(HEAD, ROWS, { columns: 40 })).toBe(`organization  status         new  proof
acme          complete     1,200  proven
globex        failed:          0  –
              forbidden
`)
})

test('if that is not enough, each row is a block', () => {
  expect(renderTable(HEAD, ROWS, { columns: 22 })).toBe(`acme
  status  complete
  new     1,200
  proof   proven

globex
  status  failed:
          forbidden
`)
})

test('a row without a title names all of its cells', () => {
  const rows = [[5n, 'it moved while it was inconsistently read']]

  expect(renderTable(['歳', 'why'], rows, { columns: 16 }, { isTitled: false })).toBe(`歳   5
why  it moved
     while it
     was inconsi
     stently
     read
`)
})

test('300 organizations whose ids are UUIDs, one of 63 letters among them, are whole on 120 columns', () => {
  const ids = [...Array.from({ length: 299 }, (_, index) => customerId(index)), 'a'.repeat(63)]
  const done = { status: 'complete', proof: 'proven' } as const
  const runs = ids.map((organization) => ({
    ...emptyReport({ organization, trigger: 'sync', startedAtMs: START_MS }),
    ...{ ...done, runId: 12_345, inserted: 12_345, durationMs: 125_000, requests: 30 },
  }))
  const table = runsTable(runs, { columns: 120 }, { withStart: true })

  expect(Math.max(...table.split('\n').map(columnsOf))).toBeLessThanOrEqual(120)
  for (const id of ids) expect(table).toContain(id)
})

test('on any terminal, no line is wider than the terminal', () => {
  const cell = fc.oneof(
    fc.nat(),
    fc.constantFrom('–', '', 'acme'),
    fc.string({ unit: 'grapheme-ascii', maxLength: 60 }),
  )
  fc.assert(
    fc.property(
      fc.array(fc.tuple(cell, cell, cell, cell, cell), { maxLength: 5 }),
      fc.integer({ min: 24, max: 120 }),
      (rows, columns) => {
        const table = renderTable(HEAD, rows, { columns })

        for (const line of table.split('\n')) expect(columnsOf(line)).toBeLessThanOrEqual(columns)
      },
    ),
  )
})
