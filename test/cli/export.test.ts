import { linkSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { exportCommand, summaryOf } from '../../src/cli/export.ts'
import { PUBLIC_TABLES } from '../../src/model/public-tables.ts'
import { aCustomer, customerId } from '../support/builders.ts'
import { aMirrorToExport } from '../support/full-mirror.ts'
import { aMirror, mirrorPages, tamper, valueOf, temporaryFolder } from '../support/mirror-file.ts'
import { failing, runCommand, runOnScreen } from '../support/run-cli.ts'
import { anAwayOrganization, aWorkplace } from '../support/workplace.ts'

let mirror: string
let folder: string
let file: string

beforeEach(async () => {
  mirror = await aMirrorToExport()
  folder = temporaryFolder()
  file = join(folder, 'customers.csv')
})

const run = (...args: string[]) => runCommand(exportCommand, ['--mirror', mirror, ...args])

async function exported(...args: string[]): Promise<{ rows: Record<string, unknown>[]; stderr: string }> {
  const { code, stdout, stderr } = await run('--format', 'jsonl', ...args)
  expect(code).toBe(0)
  const lines = stdout.split('\n').filter((line) => line !== '')
  return { rows: lines.map((line) => JSON.parse(line)), stderr }
}

const numbers = (rows: readonly Record<string, unknown>[]) =>
  rows.map(({ id }) => Number.parseInt(String(id).slice(0, 8), 16)).toSorted((a, b) => a - b)

test('the active customers of every organization are exported, with every public column; organizations are chosen, each once, and removed customers are there if asked for', async () => {
  const { rows, stderr } = await exported()
  const columns = PUBLIC_TABLES.find(({ name }) => name === 'active_customers')?.columns.map(({ name }) => name)

  expect(stderr).toBe('Exported 4 customers\nLast seq: 2\n')
  expect(numbers(rows)).toEqual([1, 3, 4, 101])
  expect(Object.keys(rows[0] ?? {})).toEqual(columns)
  expect(rows[0]).toMatchObject({ id: customerId(1), extra: { vip: { n: 1 } }, removed_at: null, is_active: true })
  await run('--format', 'jsonl', '-o', file)
  expect(readFileSync(file, 'utf8')).toBe((await run('--format', 'jsonl', '-o', '-')).stdout)

  expect(numbers((await exported('--org', 'globex', '--org', 'acme', 'globex')).rows)).toEqual([1, 3, 4, 101])
  expect(numbers((await exported('--include-removed', '--org', 'acme')).rows)).toEqual([1, 2, 3, 4])
})

test('the changes after a seq come in order, with the customer as it is now; the last seq is where to go on', async () => {
  const { rows, stderr } = await exported('--changes-since', '1')
  const [removed, ...others] = rows.filter(({ seq }) => seq !== null)

  expect(removed).toMatchObject({ seq: 2, change: 'removed', id: customerId(2), fields: null, is_active: false })
  expect(others).toEqual([])
  expect(stderr).toMatch(/^Exported \d+ changes?\nLast seq: 2\n$/)
})

test('where another program removes the file while it is written, no half of the rows takes its place', async () => {
  tamper(mirror, `UPDATE customers SET address = hex(zeroblob(50000))`)
  const { signal } = new AbortController()
  vi.spyOn(signal, 'aborted', 'get').mockImplementation(() => {
    const begun = readdirSync(folder).filter((name) => statSync(join(folder, name)).size > 0)
    for (const name of begun) rmSync(join(folder, name))
    return false
  })
  const { code } = await runCommand(exportCommand, ['--mirror', mirror, '--format', 'csv', '-o', file], { signal })

  expect([code, readdirSync(folder)]).toEqual([2, []])
})

test.each([
  ['x.csv', [], /^organization,/],
  ['x.jsonl', [], /^\{"organization"/],
  ['X.PARQUET', [], /^PAR1/],
  ['x.csv', ['--format', 'jsonl'], /^\{"organization"/],
])('a file named %s with %j has that format, is private, and is replaced as a whole', async (name, args, beginning) => {
  const to = join(folder, name)
  writeFileSync(to, 'from before')
  const stderr = `Exported 4 customers to ${to}\nLast seq: 2\n`

  expect(await run(...args, '-o', to)).toEqual({ code: 0, stdout: '', stderr })
  expect(readFileSync(to, 'latin1')).toMatch(beginning)
  expect(statSync(to).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder)).toEqual([name])
})

test('without a mirror it ends with 7; an organization that is not mirrored yet is known; the mirror and the configuration are refused by any of their names', async () => {
  const place = aWorkplace([anAwayOrganization('soon')], { mirror })
  const exportTo = (line: string) => place.run(`export --format csv ${line}`)
  linkSync(place.config, join(place.folder, 'other.yaml'))
  const before = readFileSync(place.config, 'utf8')

  expect(await exportTo('--org soon')).toMatchObject(failing(2, /^The list of soon was never read/))
  expect(await exportTo('--mirror none.db -o x.csv')).toMatchObject(failing(7, 'there is no mirror yet'))
  const refused = failing(2, /: is the (configuration|mirror itself); name another/)
  for (const name of ['customer-mirror.yaml', 'other.yaml', mirror])
    expect(await exportTo(`-o ${name}`)).toMatchObject(refused)
  expect(readFileSync(place.config, 'utf8')).toBe(before)
  expect(valueOf(mirror, 'PRAGMA quick_check')).toBe('ok')
})

test('on a terminal no value of a customer acts on it, and Parquet is refused', async () => {
  const open = await aMirror()
  const name = 'Red \u001B[31m\u009B2J\u0007 back\r\nnew line \u202Eesrever'
  await mirrorPages(open, [[aCustomer(1, { name })]])
  for (const format of ['csv', 'jsonl']) {
    const args = ['--format', format, '--mirror', open.file]
    const { code, text } = await runOnScreen(exportCommand, args, { columns: 4000 })
    expect(code).toBe(0)
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u)
    expect(text).toMatch(/Red \\u001b\[31m\\u009b2J\\u0007 back/)
  }

  const refused = { code: 2, text: expect.stringContaining('Parquet is not text: name a file') }
  expect(await runOnScreen(exportCommand, ['--format', 'parquet', '--mirror', open.file])).toMatchObject(refused)
})

test('with --excel it is said where a sheet cannot hold all rows', () => {
  const isSaid = (rows: number, excel: boolean) => {
    const plan = { to: 'x.csv', selection: { organizations: [] }, settings: { excel, ids: 'text' } } as const
    return summaryOf({ rows, leftOut: [], lastSeq: 0 }, plan).includes('! A sheet of a spreadsheet holds 1,048,575')
  }

  expect([isSaid(1_048_575, true), isSaid(1_048_576, true), isSaid(1_048_576, false)]).toEqual([false, true, false])
})
