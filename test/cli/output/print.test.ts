import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runProgram } from '../../../src/cli/program.ts'
import { liveLines } from '../../../src/cli/sync.ts'
import { columnsOf, renderTable, sqlText, wrapLines } from '../../../src/cli/output/print.ts'
import { SourceRefused } from '../../../src/errors/errors.ts'
import { emptyReport } from '../../../src/model/report.ts'
import { START_MS } from '../../support/builders.ts'
import { FakeScreen } from '../../support/run-cli.ts'

const HEAD = ['organization', 'status', 'new', 'removed', 'proof']
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

test.each(['status --config no.yaml', 'sql', '--help'])('on 40 columns, nothing is wider: %s', async (command) => {
  const screen = new FakeScreen({ columns: 40 })
  const io = { signal: new AbortController().signal, stdout: screen, stderr: screen, exitWith: () => {} }
  await runProgram(command.split(' '), io)

  expect(screen.text.split('\n').length).toBeGreaterThan(2)
  expect(screen.broken).toEqual([])
})

test('lines that are too long are broken between words; a path on a line of its own, and a command, stay whole', () => {
  const path = `/srv/${'customers-of-all-organizations/'.repeat(3)}customers.db`
  const text = `short\n\n  older-list: the newest ones are absent\n    fix: chmod 600 /run/secrets/acme-key\nRestored to the mirror ${path}: 3 customers.`

  expect(wrapLines(text, 24)).toBe(
    'short\n\n  older-list: the\n    newest ones are\n    absent\n    fix: chmod 600 /run/secrets/acme-key\n' +
      `Restored to the mirror\n${path}:\n3 customers.`,
  )
  expect(wrapLines(text, Infinity)).toBe(text)
})

test('in a statement that is shown to be copied, a value is one text', () => {
  expect(sqlText("'; DROP TABLE customers; --")).toBe("'''; DROP TABLE customers; --'")
})

const error = new SourceRefused('answered 403', { code: 'forbidden', status: 403 })
const reportOf = (organization: string) => emptyReport({ organization, trigger: 'sync', startedAtMs: START_MS })
const failed = (id: string) => ({ report: { ...reportOf(id), error: { code: error.code, message: '' } }, error })

test('an active organization shows its progress and why it waits; a line of each that ended stays', async () => {
  const screen = new FakeScreen({ columns: 120 })
  const stop = new AbortController()
  const reporter = await liveLines(['acme', 'globex', 'initech'], screen, stop.signal)
  const [acme, globex] = [reporter?.began('acme'), reporter?.began('globex')]

  globex?.ended(failed('globex'))
  expect(screen.text).toBe('✖ globex  plan forbids\nacme  asking for the first page\n… 1 more')
  acme?.onProgress({ organization: 'acme', customers: 1200, readBefore: 100, total: 2500, pages: 12 })
  await expect.poll(() => screen.text).toContain('acme  1,300 of 2,500 customers')
  acme?.onEvent({ kind: 'waiting', reason: 'rate-limited', waitMs: 45_000, untilMs: START_MS })
  stop.abort()
  expect(screen.text).toMatch(/acme {2}asked to slow down; continues in 45 s\n… stopping: saving what has arrived/)
  acme?.ended({ report: { ...reportOf('acme'), received: 2500 }, error: undefined })
  reporter?.close()

  expect(screen.text).toMatch(/^✖ globex {2}plan forbids\n✔ acme {2}2,500 customers · 0 requests.*$/)
})

test('sixty organizations on few rows leave a line each, and none of the live ones', async () => {
  const ids = Array.from({ length: 60 }, (_, index) => `organization-${index + 1}`)
  const screen = new FakeScreen({ columns: 40, rows: 4 })
  const reporter = await liveLines(ids, screen, new AbortController().signal)
  const runs = ids.map((id) => ({ id, run: reporter?.began(id) }))
  for (const { id, run } of runs) run?.ended(failed(id))
  reporter?.close()

  expect(screen.broken).toEqual([])
  expect(screen.text.split('\n')).toEqual(ids.map((id) => `✖ ${id}  plan forbids`))
})
