import { aMirrorToAsk, ENDLESS } from '../support/mirror-to-ask.ts'
import Database from 'better-sqlite3'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { sqlCommand } from '../../src/cli/sql.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { runOnScreen } from '../support/run-on-screen.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { someOf } from '../support/seeds.ts'
import { runInShell } from '../support/run-in-shell.ts'
import { LAUNCHER } from '../support/launcher.ts'

let file: string

const sql = (statement: string, ...args: string[]) =>
  runCommand(sqlCommand, ['--mirror', file, ...args, '--', statement])

/** The program as a shell starts it, with a text on its standard input. */
const shell = (command: string, input?: string) =>
  runInShell(command, { cwd: dirname(file), ...(input !== undefined && { input }) })

beforeAll(async () => {
  file = await aMirrorToAsk()
})

afterAll(() => rmSync(dirname(file), { recursive: true }))

describe('what a statement gives', () => {
  test('is a table for people', async () => {
    const { code, stdout, stderr } = await sql('SELECT name, row_id * 1000 AS number FROM customers ORDER BY 2 LIMIT 2')

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe('name        number\nCustomer 1    1000\nCustomer 2    2000\n')
  })

  const VALUES = `SELECT NULL AS none, '' AS empty, 9007199254740993 AS big, 1.0 AS one, -9e999 AS infinite, x'00ff' AS bytes, 'a' AS id, 'b' AS id`

  test('keeps every value exact', async () => {
    expect((await sql(VALUES, '--jsonl')).stdout).toBe(
      '{"none":null,"empty":"","big":9007199254740993,"one":1.0,"infinite":-9e999,"bytes":{"base64":"AP8="},"id":"a","id_2":"b"}\n',
    )
    expect((await sql(VALUES, '--csv')).stdout).toBe(
      `none,empty,big,one,infinite,bytes,id,id\r\n,"",9007199254740993,1.0,-9e999,x'00ff',a,b\r\n`,
    )
    expect((await sql(VALUES)).stdout).toMatch(/^NULL +9007199254740993 +1\.0 +-9e999 +x'00ff' +a +b$/m)
    expect(JSON.parse((await sql(VALUES, '--json')).stdout)).toMatchObject({
      schemaVersion: 1,
      rows: [{ none: null, one: 1, id: 'a', id_2: 'b' }],
    })
  })

  test('has no more than its characters on a terminal: names of columns and values write nothing to it', async () => {
    const hostile = `SELECT char(27) || '[2J' AS "\u001B]0;title\u0007", 'x' || char(10) || 'y' AS lines`
    const { text: shown } = await runOnScreen(sqlCommand, ['--mirror', file, hostile], { columns: 200 })

    expect(shown.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
    expect(shown).toContain(String.raw`\u001b]0;title\u0007`)
    expect(shown).toContain(String.raw`x\ny`)
  })
})

describe('a statement that is refused ends with 2 and says why', () => {
  test.each(
    someOf([
      ['writes', `DELETE FROM customers`, 'The statement would write.'],
      ['attaches', `ATTACH 'other.db' AS other`, 'sql reads one file, and attaches no other one.'],
      ['copies the mirror', `VACUUM INTO 'copy.db'`, 'The statement would write.'],
      ['is two', 'SELECT 1; SELECT 2', 'There is more than one statement.'],
      ['has parameters', 'SELECT ?', 'The statement has parameters'],
      [
        'names a column that is not there',
        'SELECT c.emial FROM customers c',
        'no such column: c.emial. Did you mean email?',
      ],
      ['names a table that is not there', 'SELECT * FROM custmers', 'no such table: custmers. Did you mean customers?'],
      ['takes a text for a column', 'SELECT "Bob"', "single-quotes? 'customer-mirror sql --tables' lists"],
      ['fails at a row', `SELECT json('{')`, 'The statement failed: malformed JSON'],
    ]),
  )('it %s', async (_, statement, said) => {
    const before = readFileSync(file)
    const { code, stdout, stderr } = await sql(statement)

    expect({ code, stdout: stdout.replace(/^json.*\n/, '') }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(said)
    expect(stderr).not.toMatch(/^\s+at |Unexpected|SqliteError/m)
    expect(readFileSync(file).equals(before)).toBe(true)
    expect(readdirSync(dirname(file)).filter((name) => !/^customers\.db(-wal|-shm)?$/.test(name))).toEqual([])
  })
})

test('the help shows the default of --timeout as the option wants it', async () => {
  const { stdout } = await runCli(['sql', '--help'], { cwd: temporaryFolder() })

  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('(default: 30s)')
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

test('the statement may come from standard input', () => {
  expect(shell('customer-mirror sql - --mirror customers.db --csv', '-- of a file\nSELECT 1 AS one;\n')).toEqual({
    code: 0,
    stdout: 'one\r\n1\r\n',
    stderr: '',
  })
  expect(shell('customer-mirror sql - --mirror customers.db', 'x'.repeat(2_000_000))).toMatchObject({ code: 2 })
})

test.each([
  ['nothing to do', [], /^Which statement\?/],
  ['a statement beside --tables', ['--tables', 'SELECT 1'], /--tables takes no statement/],
  ['a time without a unit', ['--timeout', '5', 'SELECT 1'], /A number needs its unit/],
  ['no time at all', ['--timeout', '0s', 'SELECT 1'], /It must be a time such as 500ms, 30s or 5m\. At least 1ms\./],
])('%s ends with 2', async (_, args, said) => {
  const ended = await runCli(['sql', ...args], { cwd: temporaryFolder() })

  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toMatch(said)
})

const UNREADABLE: [string, number, RegExp, (name: string) => void][] = [
  ['is not there', 7, /there is no mirror yet/, () => {}],
  ['is something else', 7, /is not a SQLite file/, (name) => writeFileSync(name, 'Buy milk. '.repeat(500))],
  ['another program made', 7, /is a SQLite file, but not a mirror of ours/, (name) => aDatabase(name)],
  ['a newer version wrote', 7, /newer Customer Mirror \(its version is 99/, (name) => aDatabase(name, 99)],
  ['is empty', 7, /there is no mirror yet/, (name) => writeFileSync(name, '')],
]

test.each(someOf(UNREADABLE))('a file that %s ends with %i', async (_, code, said, make) => {
  const cwd = temporaryFolder()
  make(join(cwd, 'other.db'))
  const ended = await runCli(['sql', '--mirror', 'other.db', 'SELECT 1'], { cwd })

  expect(ended).toMatchObject({ code, stdout: '' })
  expect(ended.stderr).toMatch(said)
})

function aDatabase(name: string, version?: number): void {
  const db = new Database(name)
  db.exec('CREATE TABLE customers (name)')
  if (version !== undefined) db.exec(`PRAGMA application_id = 0x434d4952; PRAGMA user_version = ${version}`)
  db.close()
}
