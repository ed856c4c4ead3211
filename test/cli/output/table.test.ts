import fc from 'fast-check'
import { expect, test } from 'vitest'
import { columnsOf } from '../../../src/cli/output/fit-text.ts'
import { runsTable } from '../../../src/cli/output/runs-table.ts'
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

test('on a narrower terminal, empty columns are left out', () => {
  expect(renderTable(HEAD, ROWS, { columns: 54 })).toBe(`organization  status               new  proof
acme          complete           1,200  proven
globex        failed: forbidden      0  –
`)
})

test('if that is not enough by a little, columns move closer together', () => {
  expect(renderTable(HEAD, ROWS, { columns: 43 })).toBe(`organization status              new proof
acme         complete          1,200 proven
globex       failed: forbidden     0 –
`)
})

test('if that is not enough, ids stand above their rows', () => {
  expect(renderTable(HEAD, ROWS, { columns: 40 })).toBe(`organization
  status               new  proof
acme
  complete           1,200  proven
globex
  failed: forbidden      0  –
`)
})

test('one long id leaves the other rows on one line, and is not cut', () => {
  const long = 'acme-'.repeat(12)

  expect(renderTable(HEAD, [...ROWS, [long, 'complete', 3, 0, 'proven']], { columns: 60 }))
    .toBe(`organization  status               new  proof
acme          complete           1,200  proven
globex        failed: forbidden      0  –
${long}
              complete               3  proven
`)
})

test('300 organizations whose ids are UUIDs are a table of runs on 120 columns, and one of them has 63 letters', () => {
  const ids = [...Array.from({ length: 299 }, (_, index) => customerId(index)), 'a'.repeat(63)]
  const done = { status: 'complete', proof: 'proven' } as const
  const runs = ids.map((organization) => ({
    ...emptyReport({ organization, trigger: 'sync', startedAtMs: START_MS }),
    ...{ ...done, runId: 12_345, inserted: 12_345, durationMs: 125_000, requests: 30 },
  }))
  const table = runsTable(runs, { columns: 120 }, { withStart: true })

  expect(table.split('\n').length).toBeLessThan(2 * ids.length + 4)
  expect(Math.max(...table.split('\n').map(columnsOf))).toBeLessThanOrEqual(120)
  for (const id of ids) expect(table).toContain(id)
})

test('if that is not enough, many columns are folded', () => {
  const runs = [2500, 12].map((received, index) => ({
    ...emptyReport({ organization: index === 0 ? 'acme' : 'globex', trigger: 'sync', startedAtMs: START_MS }),
    ...{ runId: index + 7, received, inserted: received, updated: 3, unchanged: 40, requests: 29, durationMs: 5100 },
    ...({ status: 'complete', proof: 'proven' } as const),
  }))

  expect(runsTable(runs, { columns: 80 }, { withStart: true }))
    .toBe(`run  started (UTC)        organization  status    customers    new  changed
  unchanged  requests  took   proof
#7   2026-01-05 02:00:00  acme          complete      2,500  2,500        3
         40        29  5.1 s  proven
#8   2026-01-05 02:00:00  globex        complete         12     12        3
         40        29  5.1 s  proven
`)
})

test('many columns are folded around an id of 63 letters too', () => {
  const head = ['run', 'started (UTC)', 'organization', 'status', 'customers', 'changed', 'requests', 'took', 'proof']
  const row = ['#7', '2026-01-05 02:00:00', 'a'.repeat(63), 'complete', 2500, 3, 29, '5.1 s', 'proven']
  const lines = renderTable(head, [row, row], { columns: 80 }).split('\n')

  expect(lines).toHaveLength(3 * 3 + 1)
  expect(lines[4]).toBe(`  ${'a'.repeat(63)}  complete`)
})

test('if that is not enough, each row is a block', () => {
  expect(renderTable(HEAD, ROWS, { columns: 30 })).toBe(`acme
  status  complete
  new     1,200
  proof   proven

globex
  status  failed: forbidden
`)
})

test('a row without a title names all of its cells', () => {
  const rows = [[5n, 'it moved while it was read']]

  expect(renderTable(['歳', 'why'], rows, { columns: 22 }, { isTitled: false })).toBe(`歳   5
why  it moved while it
     was read
`)
})

test('a cell that is wider than its block continues on the next line', () => {
  const rows = [['acme', 'the list moved while it was read']]

  expect(renderTable(['organization', 'why'], rows, { columns: 24 })).toBe(`acme
  why  the list moved
       while it was read
`)
})

test('a sync of one proven and one failed organization is a table on 80 columns', () => {
  const start = { trigger: 'sync', startedAtMs: START_MS } as const
  const proven = {
    received: 2500,
    unchanged: 2500,
    pages: 29,
    requests: 29,
    durationMs: 11_800,
    proof: 'proven',
  } as const
  const error = { code: 'unauthorized', message: 'answered 401' }
  const table = runsTable(
    [
      { ...emptyReport({ organization: 'acme-limited', ...start }), ...proven, status: 'complete' },
      { ...emptyReport({ organization: 'globex', ...start }), reasons: ['failed'], requests: 1, error },
    ],
    { columns: 80 },
  )

  expect(table.split('\n')[0]).toMatch(/^organization +status +customers +unchanged +requests +took +proof$/)
  expect(table).toMatch(/^globex +failed: unauthorized /m)
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
