import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { exportCommand } from '../../src/cli/export.ts'
import { PUBLIC_TABLES } from '../../src/model/public-tables.ts'
import { customerId } from '../support/builders.ts'
import { aMirrorToExport } from '../support/full-mirror.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { runOnScreen } from '../support/screen.ts'
import { someOf } from '../support/seeds.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

let mirror: string

beforeEach(async () => {
  mirror = await aMirrorToExport()
})

const run = (...args: string[]) => runCommand(exportCommand, ['--mirror', mirror, ...args])

async function exported(...args: string[]): Promise<{ rows: Record<string, unknown>[]; stderr: string }> {
  const { code, stdout, stderr } = await run('--format', 'jsonl', ...args)
  expect(code).toBe(0)
  const lines = stdout.split('\n').filter((line) => line !== '')
  return { rows: lines.map((line) => JSON.parse(line)), stderr }
}

const rowsOf = async (...args: string[]) => (await exported(...args)).rows

const numbers = (rows: readonly Record<string, unknown>[]) =>
  rows.map(({ id }) => Number.parseInt(String(id).slice(0, 8), 16)).toSorted((a, b) => a - b)

describe('what is exported', () => {
  test('the active customers of every organization, with every public column', async () => {
    const { rows, stderr } = await exported()
    const columns = PUBLIC_TABLES.find(({ name }) => name === 'active_customers')?.columns.map(({ name }) => name)

    expect(stderr).toBe('Exported 4 customers\nLast seq: 2\n')
    expect(numbers(rows)).toEqual([1, 3, 4, 101])
    expect(Object.keys(rows[0] ?? {})).toEqual(columns)
    expect(rows[0]).toMatchObject({
      ...{ organization: 'acme', id: customerId(1), name: 'Ada, "Countess"' },
      ...{ extra: { vip: { n: 1 } }, removed_at: null, is_active: true },
    })
  })

  test('some organizations, each of them once', async () => {
    expect(numbers(await rowsOf('--org', 'globex', '--org', 'acme', 'globex'))).toEqual([1, 3, 4, 101])
  })

  test('the customers of one organization, removed ones if asked for', async () => {
    const rows = await rowsOf('--include-removed', '--org', 'acme')

    expect(numbers(rows)).toEqual([1, 2, 3, 4])
    expect(rows.filter(({ is_active }) => is_active === false).map(({ id }) => id)).toEqual([customerId(2)])
  })

  test('the customers of a past day', async () => {
    const rows = await rowsOf('--as-of', '2026-01-05 12:00')

    expect(numbers(rows)).toEqual([1, 2, 3, 4, 101])
    expect(rows.find(({ id }) => id === customerId(1))).toMatchObject({ name: 'Customer 1', extra: null })
  })

  test('the changes after a seq, in order, with the customer as it is now; the last seq is where to go on', async () => {
    const { rows, stderr } = await exported('--changes-since', '1')
    const [removed, ...others] = rows.filter(({ seq }) => seq !== null)

    expect(removed).toMatchObject({ seq: 2, change: 'removed', id: customerId(2), fields: null, is_active: false })
    expect(others).toEqual([])
    expect(stderr).toMatch(/^Exported \d+ changes?\nLast seq: 2\n$/)
  })
})

describe('a file', () => {
  test('is private, replaced as a whole, and what - would have written; nothing is left beside it', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'customers.csv')
    writeFileSync(file, 'from before')

    expect(await run('--format', 'csv', '-o', file)).toEqual({
      code: 0,
      stdout: '',
      stderr: `Exported 4 customers to ${file}\nLast seq: 2\n`,
    })
    expect(readFileSync(file, 'utf8')).toBe((await run('--format', 'csv', '-o', '-')).stdout)
    expect(readFileSync(file, 'utf8')).toMatch(/^organization,/)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['customers.csv'])
  })
})

describe('bad input ends before anything is written', () => {
  const REFUSED: [string, string[], RegExp][] = [
    ['no format', [], /^Which format\? For example: customer-mirror export --format csv/],
    ['an unknown format', ['--format', 'xml'], /Allowed choices are csv, jsonl, parquet/],
    [
      'an unknown organization',
      ['--format', 'csv', '--org', 'acm'],
      /^unknown organization "acm" \(did you mean "acme"\?\): the mirror has acme, globex\n$/,
    ],
    ['one of several', ['--format', 'csv', '--org', 'acme', '--org', 'x'], /^unknown organization "x": the mirror has/],
    [
      'a spreadsheet in another format',
      ['--format', 'jsonl', '--excel'],
      /^--excel is for --format csv\. Use both, or leave --excel out\.\n$/,
    ],
    [
      'a time in the future',
      ['--format', 'csv', '--as-of', '2999-01-01'],
      /^2999-01-01 00:00:00\.000 lies in the future/,
    ],
    [
      'a time that cannot be read',
      ['--format', 'csv', '--as-of', 'soon'],
      /It must be a time, in UTC unless it names its zone: 2026-03-01,/,
    ],
    [
      'a time before the first reading',
      ['--format', 'csv', '--as-of', '1999-01-01'],
      /^1999-01-01 00:00:00\.000 is before the first complete run/,
    ],
    ['a seq that is no number', ['--format', 'csv', '--changes-since', 'x'], /It must be a whole number, at least 0/],
    ['a seq below 0', ['--format', 'csv', '--changes-since', '-1'], /argument missing|whole number/],
    [
      'a seq that is not there yet',
      ['--format', 'csv', '--changes-since', '3'],
      /^There is no change 3 yet: the last one is 2\./,
    ],
    [
      'changes at a time',
      ['--format', 'csv', '--changes-since', '0', '--as-of', '2026-01-06'],
      /cannot be used with option/,
    ],
    ['a file without a name', ['--format', 'csv', '-o', ''], /The name of the file is empty/],
  ]

  test.each(someOf(REFUSED))('%s', async (_, args, said) => {
    const { code, stdout, stderr } = await runCli(['export', '--mirror', mirror, ...args], { cwd: temporaryFolder() })

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(said)
  })

  test('without a mirror it ends with 7, as other commands that read', async () => {
    const ended = await runCli(['export', '--format', 'csv', '--mirror', 'none.db', '-o', 'x.csv'], {
      cwd: temporaryFolder(),
    })

    expect(ended).toMatchObject({ code: 7, stdout: '', stderr: expect.stringContaining('there is no mirror yet') })
  })
})

describe('on a terminal', () => {
  test('progress is shown on one line and gone at the end; no message is wider', async () => {
    const file = join(temporaryFolder(), 'customers.csv')
    const { code, lines, broken } = await runOnScreen(
      exportCommand,
      ['--format', 'csv', '--mirror', mirror, '-o', file],
      {
        columns: 80 + file.length,
      },
    )

    expect({ code, broken }).toEqual({ code: 0, broken: [] })
    expect(lines).toEqual([`Exported 4 customers to ${file}`, 'Last seq: 2'])
  })

  test('Parquet is refused there', async () => {
    const { code, text } = await runOnScreen(exportCommand, ['--format', 'parquet', '--mirror', mirror])

    expect(code).toBe(2)
    expect(text).toContain('Parquet is not text: name a file')
  })
})
