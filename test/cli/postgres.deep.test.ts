import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { moveMirror } from '../../src/copies/move.ts'
import { readStatement } from '../../src/copies/read-rows.ts'
import { fourNights, night } from '../store/nights.ts'
import { customers } from '../support/builders.ts'
import { aFullMirror, aSqliteMirror } from '../support/full-mirror.ts'
import { rowsOf, tamper, valueOf, temporaryFolder } from '../support/mirror-file.ts'
import { aPostgresMirror, statementsOn } from '../support/postgres/statement.ts'
import { runCli, failing } from '../support/run-cli.ts'
import { anAwayOrganization, aWorkplace } from '../support/workplace.ts'
import { move } from '../support/commands.ts'

/* Commands say and do the same of a mirror in PostgreSQL as of its file. */

const ORGANIZATIONS = ['acme', 'globex', 'initech'].map((id) => anAwayOrganization(id))
const [, SECOND = ''] = customers(1, 100).map(({ id }) => String(id))
const ROWS =
  'SELECT organization, id, name, missing_since IS NULL AS listed, removed_at IS NULL AS active FROM customers'

test('every command that reads or decides says and does the same, and repeats no password', async () => {
  const { file, address } = await aMirrorInBoth(await aMirrorToDecide())
  const place = aWorkplace(ORGANIZATIONS, { mirror: file, schedule: { cron: '0 3 * * *', timezone: 'UTC' } })
  const run = (mirror: string, line: string) => place.run(line, { env: { CUSTOMER_MIRROR_MIRROR: mirror } })
  const there = Object.assign(new URL(address), { password: 'hunter2' }).href
  const said: string[] = []
  const copies = [join(place.folder, 'here', 'copy.db'), join(place.folder, 'there', 'copy.db')]
  expect(await run(file, `publish ${copies[0]}`)).toMatchObject({ code: 0 })
  expect(await run(there, `publish ${copies[1]}`)).toMatchObject({ code: 0 })
  const [inFile, onServer] = copies.map((copy) => rowsOf(copy, `SELECT * FROM customers ORDER BY organization, id`))
  expect(onServer).toEqual(inFile)

  for (const line of [
    ...['status', 'status --json', 'runs', 'runs --json', 'runs show 3', 'rejects', 'rejects --json', 'removals list'],
    ...['removals list --json', 'query', 'query --include-removed --org acme --json', 'query --org acm'],
    ...['organizations list', 'schedule --json', 'query --search customer-1'],
    ...['removals show acme', 'removals approve acme --yes', 'removals discard 4 --yes', 'removals approve 4 --yes'],
    ...['removals list', 'status', 'runs show 3', `forget acme ${SECOND} --undo`, 'organizations rename globex globe'],
    ...['runs globe', 'organizations forget umbrella', 'rejects initech --json'],
    ...['diff acme', 'diff acme --since 1', 'diff acme --since 2026-01-01', 'report', 'report --json'],
  ]) {
    const [here, other] = [await run(file, line), await run(there, line)].map(({ code, stdout, stderr }) => {
      return { line, code, said: masked(stdout + stderr, { file, address }) }
    })
    said.push(other?.said ?? '')
    expect(other).toEqual(here)
  }
  const forgotten = await run(there, `forget acme ${SECOND}`)

  expect(forgotten).toMatchObject({ code: 0, stdout: expect.stringContaining('Deleted: 1 customer') })
  expect(rowsOf(address, `${ROWS} ORDER BY 1, 2`)).toEqual(
    rowsOf(file, `${ROWS} ORDER BY 1, 2`).filter(({ organization, id }) => organization !== 'acme' || id !== SECOND),
  )
  expect(valueOf(address, 'SELECT count(*) FROM customers WHERE removed_at IS NOT NULL')).toBe(49)
  expect(said.join('\n') + forgotten.stdout).not.toMatch(/hunter2|\.db\b|\bfile\b(?! 0)|\n {4}at |Unexpected/)
})

/** Reads a mirror that is named, from a folder without a configuration. */
const read = (args: readonly string[], TMPDIR?: string) =>
  runCli(args, { cwd: temporaryFolder(), ...(TMPDIR !== undefined && { env: { TMPDIR } }) })

test('sql and export give the same rows, and leave no private copy; sql ends what takes too long', async () => {
  const { file, address } = await aMirrorInBoth(await aFullMirror())
  const TMPDIR = temporaryFolder()
  const statement =
    'SELECT organization, count(*) AS n, max(updated_at) AS last, sum(1) AS total FROM customers GROUP BY 1 ORDER BY 1'
  const endless = 'SELECT count(*) FROM generate_series(1, 10000000)'

  for (const [command = '', ...options] of [
    ['sql', '--json', statement],
    ['export', '--format', 'csv', '--org', 'acme'],
    ['export', '--format', 'csv', '--org', 'globex', '--changes-since', '0'],
  ]) {
    const readFrom = (mirror: string) => read([command, '--mirror', mirror, ...options], TMPDIR)
    const found = await readFrom(address)
    expect(found).toMatchObject({ code: 0, stdout: expect.stringMatching(/"acme"|^(organization|seq),.*\r\n./) })
    expect(found).toEqual(await readFrom(file))
  }
  expect(readdirSync(join(TMPDIR, `customer-mirror-${process.geteuid?.()}`))).toEqual([])
  const ended = await read(['sql', '--mirror', address, endless, '--timeout', '100ms'])
  expect(ended).toMatchObject(failing(5, 'it took longer than 100 ms'))
})

test('whatever would write is refused and writes nothing; of large rows few are in memory at a time; what is no mirror, or an unknown one, is refused as such a file is', async () => {
  const { address } = await aMirrorInBoth(await aFullMirror())
  const rows = (statement: string) => Array.fromAsync(readStatement(address, statement))
  const before = await rows('SELECT count(*) FROM customers')

  for (const statement of [
    'DELETE FROM customers',
    'WITH gone AS (DELETE FROM customers RETURNING 1) SELECT * FROM gone',
    `SELECT nextval(pg_get_serial_sequence('runs', 'id'))`,
    `SELECT set_config('transaction_read_only', 'off', true)`,
    'SELECT 1; DELETE FROM customers',
    'SELECT * FROM customers FOR UPDATE',
    'EXPLAIN ANALYZE DELETE FROM customers',
    ...['COPY customers TO STDOUT', 'SET transaction_read_only = off', 'COMMIT', 'DO $$ BEGIN END $$'],
    ...['SELECT nam FROM customers', 'SELECT $1', String.raw`\d customers`],
  ])
    await expect(rows(statement), statement).rejects.toMatchObject({ code: 'usage' })
  expect(await rows('SELECT count(*) FROM customers')).toEqual(before)

  const large = await rows(`SELECT number, repeat('x', 8000000) FROM generate_series(1, 12) AS number`)
  const numbers = large.flatMap((some) => some.rows.map(([number]) => Number(number)))
  expect(numbers).toEqual(Array.from({ length: 12 }, (_, index) => index + 1))
  expect(Math.max(...large.map((some) => some.rows.length))).toBe(2)

  const writer = statementsOn(address, { isWriting: true })
  const refused = async (mirror: string, said: RegExp) => {
    for (const args of [['query'], ['sql', 'SELECT count(*) FROM customers']])
      expect(await read([...args, '--mirror', mirror])).toMatchObject(failing(7, said))
  }

  await refused(aPostgresMirror(), /there is no mirror yet/)
  writer.run('UPDATE mirror_schema SET version = 999')
  await refused(address, /another version of Customer Mirror made this mirror/)
  writer.run('DROP TABLE mirror_schema')
  await refused(address, /holds tables that are not a mirror of ours/)
})

/** A mirror in a file, moved to PostgreSQL too. */
async function aMirrorInBoth(file: string): Promise<{ file: string; address: string }> {
  const address = aPostgresMirror()
  const moving = { signal: new AbortController().signal, nowMs: Date.now(), monotonicMs: undefined }
  await moveMirror({ from: file, to: address }, moving)
  return { file, address }
}

/** Runs 3 and 4 hold back removals of acme and globex; initech has a reject. */
async function aMirrorToDecide(): Promise<string> {
  const mirror = await aSqliteMirror()
  await fourNights(mirror)
  await night(mirror, 0, [...customers(201, 205), { name: 'Without an id' }], { organization: 'initech' })
  return mirror.file
}

/** Without the place of the mirror, and how long ago it was read. */
function masked(text: string, { file, address }: { file: string; address: string }): string {
  const shown = address.replace(/\/\/.*@/, '//')
  return text
    .replaceAll(file, 'THE MIRROR')
    .replaceAll(shown, 'THE MIRROR')
    .replaceAll(/(age\S* +|[Aa]ge\S*: )[\d.]+[^\n,]*/g, '$1…')
}

const STOPPED = 'Stopped as asked. Nothing was copied.\n'

test('a mirror with a run under way is not moved, in either direction', async () => {
  const mirror = await aSqliteMirror()
  const there = aPostgresMirror()
  await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: Date.now() })
  const busy = failing(6, /^acme: run 1 .*is mirroring it now, so it cannot be moved/)
  expect(await move(mirror.file, there)).toMatchObject(busy)

  tamper(mirror.file, 'DELETE FROM leases')
  expect((await move(mirror.file, there)).code).toBe(0)
  tamper(there, `INSERT INTO leases VALUES ('acme', 1, 'another', extract(epoch FROM now()) * 1000 + 60000)`)
  const back = join(dirname(mirror.file), 'back.db')
  expect(await move(there, back)).toMatchObject(busy)
  expect(existsSync(back)).toBe(false)

  // Taken while the clock of the server was ahead, by a process that ended.
  tamper(there, `UPDATE leases SET expires_at_ms = expires_at_ms + 31536000000`)
  expect(JSON.parse((await move(there, back, '--json')).stdout).moved).toMatchObject({
    ...{ to: back, organizations: 1, rows: { runs: 1 }, setting: { line: `mirror: "${back}"` } },
  })
})

test('a move that is stopped leaves nothing, and can be started again: into a private file, with the line to change, and into no place that holds a mirror', async () => {
  const file = await aFullMirror()
  const there = aPostgresMirror()
  const back = join(dirname(file), 'back.db')

  expect(await move(file, there, AbortSignal.abort())).toMatchObject({ stdout: '', stderr: STOPPED })
  expect(valueOf(there, 'SELECT count(*) FROM runs')).toBe(0)
  expect((await move(file, there)).code).toBe(0)
  expect(await move(await aFullMirror(), there)).toMatchObject(failing(2, 'holds a mirror already'))
  writeFileSync(join(dirname(file), '.back.db.0123456789abcdef.unfinished'), 'of a move that was killed')
  expect(await move(there, back, AbortSignal.abort())).toMatchObject({ stdout: '', stderr: STOPPED })
  expect(readdirSync(dirname(file)).filter((name) => name.includes('back'))).toEqual([])
  const stdout = expect.stringContaining(`  mirror: ${JSON.stringify(back)}\n`)
  expect(await move(there, back)).toMatchObject({ code: 0, stderr: '', stdout })
  expect(statSync(back).mode & 0o777).toBe(0o600)
  expect(await move(there, back)).toMatchObject(failing(2, `${back}: is there already`))
})
