import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createPages } from '../../jobs/monitoring/endpoints.ts'
import { answeringInTime } from '../../jobs/run/live-mirror.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { moveMirror } from '../../src/copies/move.ts'
import { readStatement } from '../../src/copies/read-rows.ts'
import { nameOfProcess } from '../../src/machine/process-name.ts'
import { openMirrorToRead } from '../../src/store/mirror.ts'
import { aFullMirror } from '../support/full-mirror.ts'
import { metricsOf, readExposition } from '../support/metrics.ts'
import { aPostgresMirror } from '../support/postgres/here.ts'
import { statementsOn } from '../support/postgres/statement.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aWorkplace } from '../support/workplace.ts'

let file: string
let address: string
beforeEach(async () => {
  file = await aFullMirror()
  address = aPostgresMirror()
  const moving = {
    signal: new AbortController().signal,
    nowMs: Date.now(),
    monotonicMs: undefined,
  }
  await moveMirror({ from: file, to: address }, moving)
})

test('query and sql print the same of a mirror in PostgreSQL as of its file', async () => {
  const statement =
    'SELECT organization, count(*) AS n, max(updated_at) AS last, sum(1) AS total FROM customers GROUP BY 1 ORDER BY 1'

  expect(await query(address, ['--include-removed', '--json'])).toEqual(
    await query(file, ['--include-removed', '--json']),
  )
  expect(await query(address, ['--search', '花子'])).toEqual(await query(file, ['--search', '花子']))
  expect(await query(address, ['--limit', '3'])).toEqual(await query(file, ['--limit', '3']))
  expect(await sql(address, statement, '--json')).toEqual(await sql(file, statement, '--json'))
  expect(await query(address, ['--org', 'acm'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('did you mean "acme"?'),
  })
})

test('sql --tables lists the tables with the types of PostgreSQL, as its dictionary has them', async () => {
  const { code, stdout } = await run(['sql', '--mirror', address, '--tables'])

  expect(code).toBe(0)
  expect(stdout).toMatch(/^ {2}updated_at +timestamp with time zone +when the row/m)
  expect(stdout).toMatch(/^ {2}is_active +boolean +true while/m)
  expect(stdout).not.toMatch(/DATETIME|SQLite|\bfile\b/)
})

test('whatever would write is refused, and nothing is written', async () => {
  const read = (statement: string) => Array.fromAsync(readStatement(address, statement))
  const before = await read('SELECT count(*) FROM customers')

  for (const statement of [
    'DELETE FROM customers',
    'WITH gone AS (DELETE FROM customers RETURNING 1) SELECT * FROM gone',
    `SELECT nextval(pg_get_serial_sequence('runs', 'id'))`,
    `SELECT set_config('transaction_read_only', 'off', true)`,
    'SELECT 1; DELETE FROM customers',
    'SELECT * FROM customers FOR UPDATE',
    'EXPLAIN ANALYZE DELETE FROM customers',
    'COPY customers TO STDOUT',
    'SET transaction_read_only = off',
    'SELECT nam FROM customers',
    'SELECT $1',
  ])
    await expect(read(statement), statement).rejects.toMatchObject({ code: 'usage' })
  expect(await read('SELECT count(*) FROM customers')).toEqual(before)
})

test('query and sql refuse what is no mirror, or one that they do not know, as they refuse such a file', async () => {
  const writer = statementsOn(address, { isWriting: true })
  const refused = async (mirror: string, said: RegExp) => {
    for (const args of [
      ['query', '--mirror', mirror],
      ['sql', '--mirror', mirror, 'SELECT count(*) FROM customers'],
    ])
      expect(await run(args)).toMatchObject({ code: 7, stdout: '', stderr: expect.stringMatching(said) })
  }

  await refused(aPostgresMirror(), /there is no mirror yet/)
  writer.run('UPDATE mirror_schema SET version = 999')
  await refused(address, /another version of Customer Mirror made this mirror/)
  writer.run('DROP TABLE mirror_schema')
  await refused(address, /holds tables that are not a mirror of ours/)
})

test('the page of a worker, that of a run and the metrics are the same', async () => {
  const [inFile, onServer] = [await seen(file), await seen(address)]

  expect(inFile.pages[0]).toContain('<h3>acme</h3>')
  expect(onServer).toEqual(inFile)
  const families = readExposition(onServer.metrics)
  expect(families.get('customer_mirror_last_success_timestamp_seconds')?.samples).not.toEqual([])
})

test('of rows with large values few are in memory at a time, and none is lost', async () => {
  const lengths: number[] = []
  let rows = 0
  const statement = `SELECT number, repeat('x', 8000000) FROM generate_series(1, 12) AS number`
  for await (const some of readStatement(address, statement)) {
    lengths.push(some.rows.length)
    for (const [number] of some.rows) expect(Number(number)).toBe((rows += 1))
  }

  expect(rows).toBe(12)
  expect(Math.max(...lengths)).toBe(2)
})

test('a statement that takes too long is ended, and ends with 5', async () => {
  const { code, stderr } = await sql(address, 'SELECT count(*) FROM generate_series(1, 10000000)', '--timeout', '100ms')

  expect(code).toBe(5)
  expect(stderr).toContain('it took longer than 100 ms')
})

test('an export is the same, and the private copy that it reads is gone, also one that a killed command left', async () => {
  const [here, temporary] = [temporaryFolder(), temporaryFolder()]
  const abandoned = join(temporary, 'customer-mirror-copy-killed')
  mkdirSync(abandoned, { mode: 0o700 })
  writeFileSync(join(abandoned, 'owner'), ownerOfNoProcess())
  writeFileSync(join(abandoned, 'customers.db'), 'what was copied')

  for (const options of [
    ['--org', 'acme'],
    ['--org', 'globex', '--changes-since', '0'],
  ]) {
    const exported: string[] = []
    for (const mirror of [address, file]) {
      const output = join(here, 'exported.csv')
      const ended = await run(['export', '--mirror', mirror, '--format', 'csv', '-o', output, ...options], temporary)
      expect(ended).toMatchObject({ code: 0 })
      exported.push(readFileSync(output, 'utf8'))
    }
    expect(exported[0]).toBe(exported[1])
  }
  expect(readdirSync(temporary)).toEqual([])
})

test('organizations are listed, and a password on the command line is refused without being repeated', async () => {
  const list = (mirror: string) => run(['organizations', 'list', '--mirror', mirror, '--json'])

  expect(await list(address)).toEqual(await list(file))
  const { code, stderr } = await sql('postgres://ann:hunter2@127.0.0.1/crm', 'SELECT 1')
  expect(code).toBe(2)
  expect(stderr).toMatch(/^--mirror holds a password/)
  expect(stderr).not.toContain('hunter2')
})

/** What a worker serves of a mirror: its page, that of a run, and its metrics. */
async function seen(at: string): Promise<{ pages: string[]; metrics: string }> {
  const opened = await openMirrorToRead(at)
  onTestFinished(() => opened.close())
  const credentials = { baseUrl: 'http://127.0.0.1:1', secret: 'made-up' }
  const { config, folder } = aWorkplace(
    ['acme', 'globex'].map((id) => ({ id, apiKey: `key of ${id}`, ...credentials })),
  )
  const { organizations } = await readConfig({ file: config, cwd: folder })
  const clocks = { moment: async () => ({ nowMs: Date.UTC(2026, 11, 24), monotonicMs: 0 }) }
  const shown = { mirror: answeringInTime(opened), organizations: () => organizations, ...clocks }
  const answers = ['/', '/runs/1'].map(async (path) => (await createPages(shown).request(path)).text())
  return { pages: await Promise.all(answers), metrics: (await metricsOf(shown).lines()).join('\n') }
}

/** The name of a process of this machine that cannot be: numbers of processes end below it. */
function ownerOfNoProcess(): string {
  const [machine] = nameOfProcess().split('#')
  return `${machine}#99999999#1`
}

const query = (mirror: string, options: string[]) => run(['query', '--mirror', mirror, ...options])
const sql = (mirror: string, statement: string, ...options: string[]) =>
  run(['sql', '--mirror', mirror, statement, ...options])

function run(args: string[], TMPDIR?: string) {
  return runCli(args, { cwd: temporaryFolder(), ...(TMPDIR !== undefined && { env: { TMPDIR } }) })
}
