import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { exitCodeOf } from '../../src/cli/exit-code.ts'
import { withSuggestion } from '../../src/cli/reading/list-tables.ts'
import { sqlCommand } from '../../src/cli/sql.ts'
import { openToRead } from '../../src/copies/open-to-read.ts'
import { prepareToRead, statementError } from '../../src/copies/sqlite-statement.ts'
import { aMirrorToAsk, ENDLESS } from '../support/full-mirror.ts'
import { LAUNCHER, runCli, runInShell } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { runOnScreen } from '../support/screen.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

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
    const { code, stdout, stderr } = await sql(
      'SELECT name, row_id * 1000 AS number, NULL AS none FROM customers ORDER BY 2 LIMIT 2',
    )

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe('name        number  none\nCustomer 1    1000  NULL\nCustomer 2    2000  NULL\n')
  })

  // The other formats of such values: test/cli/output/rows.test.ts.
  test('keeps every value exact', async () => {
    const { stdout } = await sql(`SELECT 9007199254740993 AS big, 1.0 AS one, x'00ff' AS bytes, 2 AS one`, '--json')

    expect(JSON.parse(stdout)).toMatchObject({ schemaVersion: 1, rows: [{ one_2: 2 }] })
    expect(stdout).toContain('{"big":9007199254740993,"one":1.0,"bytes":{"base64":"AP8="},"one_2":2}')
  })

  test('has no more than its characters on a terminal: names of columns and values write nothing to it', async () => {
    const hostile = `SELECT char(27) || '[2J' AS "\u001B]0;title\u0007", 'x' || char(10) || 'y' AS lines`
    const { text: shown } = await runOnScreen(sqlCommand, ['--mirror', file, hostile], { columns: 200 })

    expect(shown.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
    expect(shown).toContain(String.raw`\u001b]0;title\u0007`)
    expect(shown).toContain(String.raw`x\ny`)
  })
})

const REFUSED: [what: string, statement: string, said: string][] = [
  ['writes', `DELETE FROM customers`, 'sql runs one statement that only reads.'],
  ['attaches', `ATTACH 'other.db' AS other`, 'not with "ATTACH"'],
  ['copies the mirror', `VACUUM INTO 'copy.db'`, 'not with "VACUUM"'],
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
]

/** Those that are refused before the statement is run, by what it names, and while it runs. */
const THROUGH_PROCESS = ['writes', 'names a table that is not there', 'fails at a row']

describe('a statement that is refused ends with 2 and says why', () => {
  test.each(REFUSED)('it %s', (_, statement, said) => {
    const opened = openToRead(file)
    onTestFinished(() => opened.close())
    const read = () => prepareToRead(opened.db, statement).all()

    const error = withSuggestion(statementError(thrownBy(read), file))
    expect(error).toMatchObject({ message: expect.stringContaining(said) })
    expect(exitCodeOf(error)).toBe(2)
  })

  test.each(REFUSED.filter(([what]) => THROUGH_PROCESS.includes(what)))(
    'it %s, to the process that runs it',
    async (_, statement, said) => {
      const before = readFileSync(file)
      const { code, stdout, stderr } = await sql(statement)

      expect({ code, stdout: stdout.replace(/^json.*\n/, '') }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toContain(said)
      expect(stderr).not.toMatch(/^\s+at |Unexpected|SqliteError/m)
      expect(readFileSync(file).equals(before)).toBe(true)
      expect(readdirSync(dirname(file)).filter((name) => !/^customers\.db(-wal|-shm)?$/.test(name))).toEqual([])
    },
  )
})

function thrownBy(action: () => unknown): unknown {
  try {
    action()
  } catch (error) {
    return error
  }
  return undefined
}

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
  [
    'is something else',
    7,
    /file is not a database \(SQLITE_NOTADB\)/,
    (name) => writeFileSync(name, 'Buy milk. '.repeat(500)),
  ],
  ['another program made', 7, /is a SQLite file of another program/, (name) => aDatabase(name)],
  [
    'another version wrote',
    7,
    /another version of Customer Mirror made this mirror \(it is of version 99/,
    (name) => aDatabase(name, 99),
  ],
  ['is empty', 7, /there is no mirror yet/, (name) => writeFileSync(name, '')],
]

test.each(UNREADABLE)('a file that %s is refused', (_, code, said, make) => {
  const name = join(temporaryFolder(), 'other.db')
  make(name)

  const error = thrownBy(() => openToRead(name))
  expect(error).toMatchObject({ message: expect.stringMatching(said) })
  expect(exitCodeOf(error)).toBe(code)
})

test.each(UNREADABLE.slice(0, 1))('a file that %s ends with %i', async (_, code, said, make) => {
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
