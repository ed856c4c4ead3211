import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeEach, expect, inject, test } from 'vitest'
import { sqlCommand } from '../../src/cli/query.ts'
import { PUBLIC_TABLES } from '../../src/model/public-tables.ts'
import { ENDLESS } from '../support/full-mirror.ts'
import { LAUNCHER, runCli, runInShell } from '../support/run-cli.ts'
import { runCommand, runOnScreen } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aMirrorOfFive } from '../support/mirror-file.ts'

let file: string

const sql = (statement: string, ...args: string[]) =>
  runCommand(sqlCommand, ['--mirror', file, ...args, '--', statement])

beforeEach(async () => {
  file = await aMirrorOfFive()
})

// The formats of values: test/cli/output/rows.test.ts; which statements are refused: test/copies/read-rows.test.ts.
test('rows are a document whose values are exact', async () => {
  const { code, stdout, stderr } = await sql(
    `SELECT 9007199254740993 AS big, 1.0 AS one, x'00ff' AS bytes, 2 AS one`,
    '--json',
  )

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout)).toMatchObject({ schemaVersion: 1, rows: [{ one_2: 2 }] })
  expect(stdout).toContain('{"big":9007199254740993,"one":1.0,"bytes":{"base64":"AP8="},"one_2":2}')
})

test('a statement that fails ends with 2 and says why, and changes nothing', async () => {
  const before = readFileSync(file)
  const { code, stdout, stderr } = await sql('SELECT * FROM custmers')

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain("no such table: custmers. 'customer-mirror sql --tables' lists them all.")
  expect(stderr).not.toMatch(/^\s+at |Unexpected|SqliteError/m)
  expect(readFileSync(file).equals(before)).toBe(true)
  expect(readdirSync(dirname(file)).filter((name) => !/^customers\.db(-wal|-shm)?$/.test(name))).toEqual([])
})

test('a statement that takes longer than --timeout is ended with 5', async () => {
  const { code, stdout, stderr } = await sql(ENDLESS, '--timeout', '50ms')

  expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
  expect(stderr).toMatch(/^The statement was ended: it took longer than 50 ms\..*--timeout/)
})

const SIGNALS = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const

test.each(SIGNALS.slice(0, inject('isDeep') ? 2 : 1))('%s ends a statement at once', async (signal, code) => {
  const rowsThenNone = ENDLESS.replace('COUNT(*)', 'x').concat(' WHERE x < 100000')
  const child = spawn(process.execPath, [LAUNCHER, 'sql', '--csv', '--timeout=1h', '--mirror', file, rowsThenNone])
  const said = text(child.stderr)
  const ended = once(child, 'close')
  await once(child.stdout, 'data')
  child.stdout.resume()
  child.kill(signal)

  // Also the process that runs the statement has standard output open until it ends.
  expect(await ended).toEqual([code, null])
  expect(await said).toBe('')
})

test('the statement may come from standard input; its rows are a table for people', () => {
  const input = '-- of a file\nSELECT name, row_id * 1000 AS number, NULL AS none FROM customers ORDER BY 2 LIMIT 2;\n'

  expect(runInShell('customer-mirror sql - --mirror customers.db', { cwd: dirname(file), input })).toEqual({
    ...{ code: 0, stderr: '' },
    stdout: 'name        number  none\nCustomer 1    1000  NULL\nCustomer 2    2000  NULL\n',
  })
})

test('--tables lists the public tables and columns, and needs no mirror', async () => {
  const cwd = temporaryFolder()
  const { code, stdout } = await runCli(['sql', '--tables'], { cwd })

  expect(code).toBe(0)
  for (const { name, columns } of PUBLIC_TABLES) {
    expect(stdout).toMatch(new RegExp(`^${name} `, 'm'))
    for (const column of columns) expect(stdout).toMatch(new RegExp(`^ +${column.name} +${column.type} +\\S`, 'm'))
  }
  expect(stdout).not.toMatch(/lease|window/)
  const { tables } = JSON.parse((await runCli(['sql', '--tables', '--json'], { cwd })).stdout)
  expect(tables).toHaveLength(PUBLIC_TABLES.length)
  expect((await runOnScreen(sqlCommand, ['--tables'])).broken).toEqual([])
})
