import fc from 'fast-check'
import { expect, test } from 'vitest'
import { columnsOf } from '../../../src/cli/output/print.ts'
import { runsTable } from '../../../src/cli/output/run-words.ts'
import { renderTable } from '../../../src/cli/output/print.ts'
import { emptyReport } from '../../../src/model/report.ts'
import { customerId, START_MS } from '../../support/builders.ts'

const HEAD = ['organization', 'status', 'new', 'removed', 'proof']
const ROWS = [
  ['acme', 'complete', 1200, 0, 'proven'],
  ['globex', 'failed: forbidden', 0, 0, '–'],
]

const WHOLE = `organization  status               new  removed  proof
acme          complete           1,200        0  proven
globex        failed: forbidden      0        0  –
`
const WITHOUT_EMPTY_COLUMNS = `organization  status               new  proof
acme          complete           1,200  proven
globex        failed: forbidden      0  –
`
const BROKEN_BETWEEN_WORDS = `organization  status         new  proof
acme          complete     1,200  proven
globex        failed:          0  –
              forbidden
`
const IN_BLOCKS = `organization  acme
status        complete
new           1,200
proof         proven

organization  globex
status        failed:
              forbidden
`

test.each([
  [undefined, WHOLE],
  [55, WHOLE],
  [54, WITHOUT_EMPTY_COLUMNS],
  [40, BROKEN_BETWEEN_WORDS],
  [24, IN_BLOCKS],
])('a table as a file or a terminal of %s columns gets it', (columns, table) => {
  expect(renderTable(HEAD, ROWS, columns)).toBe(table)
})

test('300 organizations whose ids are UUIDs, one of 63 letters among them, are whole on 120 columns', () => {
  const ids = [...Array.from({ length: 299 }, (_, index) => customerId(index)), 'a'.repeat(63)]
  const done = { status: 'complete', proof: 'proven' } as const
  const runs = ids.map((organization) => ({
    ...emptyReport({ organization, trigger: 'sync', startedAtMs: START_MS }),
    ...{ ...done, runId: 12_345, inserted: 12_345, durationMs: 125_000, requests: 30 },
  }))
  const { head, rows } = runsTable(runs, { withStart: true })
  const table = renderTable(head, rows, 120)

  expect(Math.max(...table.split('\n').map(columnsOf))).toBeLessThanOrEqual(120)
  for (const id of ids) expect(table).toContain(id)
})

test('on any terminal, no line is wider than the terminal, in any script', () => {
  const cell = fc.oneof(fc.nat(), fc.constantFrom('–', '', '歳歳'), fc.string({ unit: 'grapheme', maxLength: 60 }))
  fc.assert(
    fc.property(
      fc.array(fc.tuple(cell, cell, cell, cell, cell), { maxLength: 5 }),
      fc.integer({ min: 24, max: 120 }),
      (rows, columns) => {
        for (const line of renderTable(HEAD, rows, columns).split('\n'))
          expect(columnsOf(line)).toBeLessThanOrEqual(columns)
      },
    ),
  )
})
