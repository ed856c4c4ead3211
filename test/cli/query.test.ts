import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { queryCommand } from '../../src/cli/query.ts'
import { sqlCommand } from '../../src/cli/sql.ts'
import { PUBLIC_TABLES } from '../../src/model/public-tables.ts'
import { night } from '../store/nights.ts'
import { aCustomer, customerId, customers } from '../support/builders.ts'
import { aMirrorToExport, ENDLESS } from '../support/full-mirror.ts'
import { aMirror, mirrorPages, temporaryFolder } from '../support/mirror-file.ts'
import { aPlan, publishAll } from '../support/publishing.ts'
import { LAUNCHER, runCli, runInShell, startCli, failing, runCommand, runOnScreen } from '../support/run-cli.ts'
import { anAwayOrganization, anAwayWorkplace, aWorkplace } from '../support/workplace.ts'

let mirror: string

beforeEach(async () => {
  mirror = await aMirrorToExport()
})

const query = (...args: string[]) => runCommand(queryCommand, ['--mirror', mirror, ...args])

test('--json has every public column of every customer; they are found by organization, language and a part in any case, removed ones if asked for', async () => {
  const columns = PUBLIC_TABLES.find(({ name }) => name === 'active_customers')?.columns.map(({ name }) => name)
  const listed = async (...args: string[]) => JSON.parse((await query('--json', ...args)).stdout).customers
  const numbers = async (...args: string[]) =>
    (await listed(...args)).map(({ id }: { id: string }) => Number.parseInt(id.slice(0, 8), 16))

  expect(Object.keys((await listed())[0])).toEqual(columns)
  expect(await numbers()).toEqual([1, 3, 4, 101])
  expect(await numbers('--search', ' cOUNTess ')).toEqual([1])
  expect(await numbers('--search', '-3@EXAMPLE')).toEqual([3])
  expect(await numbers('--org', 'acme', '--language', 'en', '--include-removed')).toEqual([1, 2, 3, 4])
  expect(await numbers('--language', 'fr')).toEqual([])
})

test('an organization that is configured and not mirrored yet has no customers; an unknown one gets a suggestion', async () => {
  const { run } = aWorkplace([anAwayOrganization('soon')], { mirror })

  for (const org of ['soon', 'acme']) expect(await run(`query --org ${org}`)).toMatchObject({ code: 0, stderr: '' })
  expect(await run('query --org son')).toMatchObject(failing(2, '(did you mean "soon"?)'))
})

test('a table ends after fifty customers and says so; a document has all', async () => {
  const open = await aMirror()
  await mirrorPages(open, [customers(1, 60)])
  mirror = open.file

  const table = await query()
  expect(table.stdout.trimEnd().split('\n')).toHaveLength(51)
  expect(table.stderr).toMatch(/^These are the first 50\..*--limit/)
  expect(JSON.parse((await query('--json')).stdout).customers).toHaveLength(60)
  expect(await query('--limit', '60')).toMatchObject({ stderr: '' })
})

test('a copy without personal data can be read, and says why it cannot be searched', async () => {
  const plan = aPlan(mirror, { withoutPersonalData: true })
  publishAll(plan)
  mirror = plan.file

  expect((await query()).stdout).toMatch(/^acme +[\w-]{36} +en$/m)
  expect(await query('--search', 'ada')).toMatchObject(failing(2, 'personal data'))
})

const sql = (statement: string, ...args: string[]) =>
  runCommand(sqlCommand, ['--mirror', mirror, ...args, '--', statement])

test('a statement that fails ends with 2 and says why, one that takes longer than --timeout with 5, and neither changes anything', async () => {
  const before = readFileSync(mirror)
  const refused = await sql('SELECT * FROM custmers')

  expect(JSON.parse((await sql('SELECT 2 AS one', '--json')).stdout)).toEqual({ schemaVersion: 1, rows: [{ one: 2 }] })
  const said = "no such table: custmers. 'customer-mirror sql --tables' lists them all."
  expect(refused).toMatchObject(failing(2, said))
  expect(refused.stderr).not.toMatch(/^\s+at |Unexpected|SqliteError/m)
  const ended = /^The statement was ended: it took longer than 50 ms\..*--timeout/
  expect(await sql(ENDLESS, '--timeout', '50ms')).toMatchObject(failing(5, ended))
  expect(readFileSync(mirror).equals(before)).toBe(true)
  expect(readdirSync(dirname(mirror)).filter((name) => !/^customers\.db(-wal|-shm)?$/.test(name))).toEqual([])
})

test('Ctrl-C ends a statement at once', async () => {
  const rowsThenNone = ENDLESS.replace('COUNT(*)', 'x').concat(' WHERE x < 100000')
  const args = ['sql', '--csv', '--timeout=1h', '--mirror', mirror, rowsThenNone]
  const running = startCli(args, { cwd: dirname(mirror), onFirstOutput: () => running.send('SIGINT') })

  // Also the process that runs the statement has standard output open until it ends.
  expect(await running.ended).toMatchObject({ code: 130, signal: null, stderr: '' })
})

test('the statement may come from standard input; its rows are a table for people', () => {
  const input = '-- of a file\nSELECT name, row_id * 1000 AS number, NULL AS none FROM customers WHERE row_id = 3;\n'

  const table = 'name        number  none\nCustomer 3    3000  NULL\n'
  const ended = runInShell(`customer-mirror sql - --mirror '${mirror}'`, { cwd: dirname(mirror), input })
  expect(ended).toEqual({ code: 0, stderr: '', stdout: table })
})

test('a statement may begin with a comment, also without a space, wherever the options stand', async () => {
  const statement = '--who\nSELECT 7 AS seven'
  const ask = (...args: string[]) => runCli(['sql', ...args], { cwd: temporaryFolder() })
  const named = ['--mirror', mirror, '--csv']
  const found = { code: 0, stdout: 'seven\r\n7\r\n', stderr: '' }

  for (const args of [
    [statement, ...named],
    [...named, statement],
    [...named, '--', statement],
  ])
    expect(await ask(...args)).toMatchObject(found)
  expect(await ask('--cvs', statement)).toMatchObject({ code: 2, stderr: expect.stringContaining("option '--cvs'") })
})

test('a statement ends when the command that would end it is killed', async () => {
  // Two rows, each of which is too long to be kept back, and then none.
  const rowsThenNone = ENDLESS.replace('COUNT(*)', `printf('%070000d', x)`).concat(' WHERE x < 3')
  const child = spawn(process.execPath, [LAUNCHER, 'sql', '--csv', '--timeout=1h', '--mirror', mirror, rowsThenNone])
  const ended = once(child, 'close')
  let received = 0
  for await (const chunk of child.stdout) {
    received += Buffer.from(chunk).length
    if (received > 140_000) child.kill('SIGKILL')
  }

  // Standard output has an end once the process that runs the statement has ended too.
  expect(await ended).toEqual([null, 'SIGKILL'])
})

test('--tables lists the public tables and columns, and needs no mirror; no line of a table is wider than a terminal', async () => {
  const cwd = temporaryFolder()
  const { tables } = JSON.parse((await runCli(['sql', '--tables', '--json'], { cwd })).stdout)

  expect(tables.map(({ name }: { name: string }) => name)).toEqual(PUBLIC_TABLES.map(({ name }) => name))
  for (const [at, { columns }] of PUBLIC_TABLES.entries()) expect(tables[at].columns).toHaveLength(columns.length)
  const shown = await runOnScreen(sqlCommand, ['--tables'])
  expect(shown).toMatchObject({ code: 0, text: expect.stringMatching(/^customers /m), broken: [] })
  const narrow = await runOnScreen(queryCommand, ['--mirror', mirror], { columns: 40 })
  expect(narrow).toMatchObject({ code: 0, text: expect.stringContaining('"Countess"'), broken: [] })
})

/** Acme over four nights: customer 1 gets another name and e-mail address, 2 leaves and returns, 31 comes. */
async function fourNights() {
  const { workplace, mirror: open } = await anAwayWorkplace()
  const later = [aCustomer(1, { name: 'Eve\u001b[31m', email: '=1+1@example.com' }), ...customers(3, 31)]
  await night(open, 0, customers(1, 30))
  await night(open, 1, later)
  await night(open, 2, later)
  await night(open, 3, [...later, aCustomer(2)])
  await open.close()
  return workplace
}

test('diff prints what the newest run found, or everything since a run or a time, and how many that were; a document and CSV have a row for each changed field', async () => {
  const { run, json } = await fourNights()

  const newest = /^returned +00000002-.* Customer 2 .*\n\nacme: 1 returned since run 3 /m
  expect(await run('diff acme')).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(newest) })
  const { stdout } = await run('diff acme --since 1')
  expect(stdout).toMatch(/^changed .* name +Customer 1 +Eve\\u001b\[31m\n/m)
  expect(stdout).toMatch(/^acme: 1 came, 1 left, 1 returned, 1 changed since run 1 /m)
  expect((await run('diff acme --since 2026-01-07')).stdout).toContain('1 left, 1 returned since 2026-01-07 00:00')
  expect((await run('diff acme --since 4')).stdout).toMatch(/^acme: no customer came, left, .* since run 4 /)

  const document = await json('diff acme --since #1')
  const csv = (await run('diff acme --since 1 --csv')).stdout.split('\r\n')

  expect(document).toMatchObject({ organization: 'acme', sinceRun: 1, since: null })
  expect(document.changes.map(({ id, change, field }: Record<string, unknown>) => [id, change, field])).toEqual([
    [customerId(1), 'changed', 'name'],
    [customerId(1), 'changed', 'email'],
    [customerId(31), 'added', null],
    [customerId(2), 'removed', null],
    [customerId(2), 'returned', null],
  ])
  expect(document.changes[1]).toMatchObject({ before: 'customer-1@example.com', after: '=1+1@example.com', run: 2 })
  expect(csv).toHaveLength(7)
  expect(csv[2]).toContain(',email,customer-1@example.com,=1+1@example.com')
})
