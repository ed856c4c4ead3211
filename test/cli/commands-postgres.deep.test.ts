import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../bench/postgres-server.ts'
import { moveMirror } from '../../src/copies/move.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aSqliteMirror } from '../support/full-mirror.ts'
import { aJobsWorkplace, isEmbedded } from '../support/jobs-workplace.ts'
import { mirrorPages, rowsOf, valueOf } from '../support/mirror-file.ts'
import { aPostgresMirror } from '../support/postgres/here.ts'
import { runCli } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

const ORGANIZATIONS = ['acme', 'globex', 'initech'].map((id) => {
  return { id, baseUrl: `http://127.0.0.1:1/${id}`, apiKey: `key-of-${id}`, secret: 'made-up' }
})
const [, SECOND = ''] = customers(1, 100).map(({ id }) => String(id))
const ROWS =
  'SELECT organization, id, name, missing_since IS NULL AS listed, removed_at IS NULL AS active FROM customers'

test('every command that reads or decides says and does the same of a mirror in PostgreSQL as of its file', async () => {
  const { file, address } = await aMirrorInBoth()
  const schedule = { cron: '0 3 * * *', timezone: 'UTC' }
  const { folder } = aWorkplace(ORGANIZATIONS, { mirror: file, schedule })
  const said: string[] = []

  for (const line of [
    ...['status', 'status --json', 'runs', 'runs --json', 'runs show 3', 'rejects', 'rejects --json', 'removals list'],
    ...[
      'removals list --json',
      'query --json',
      'query --include-removed --org acme --json',
      'organizations list',
      'schedule --json',
    ],
    ...[
      'removals show acme',
      'removals approve acme --yes',
      'removals discard 4 --yes',
      'removals approve 4 --yes',
      'removals list',
    ],
    ...['status', 'runs show 3', `forget acme ${SECOND} --undo`, 'organizations rename globex globe', 'runs globe'],
    ...['organizations forget umbrella', 'rejects initech --json'],
  ]) {
    const [here, there] = [await run(file), await run(withPassword(address))]
    said.push(there.said)
    expect({ line, ...there }).toEqual({ line, ...here })

    async function run(mirror: string) {
      const env = { CUSTOMER_MIRROR_MIRROR: mirror }
      const { code, stdout, stderr } = await runCli(line.split(' '), { cwd: folder, env })
      return { code, said: masked(stdout + stderr, { file, address }) }
    }
  }
  const { code, stdout } = await runCli(['forget', 'acme', SECOND], {
    cwd: folder,
    env: { CUSTOMER_MIRROR_MIRROR: withPassword(address) },
  })

  expect(code).toBe(0)
  expect(stdout).toContain('Deleted: 1 customer')
  expect(rowsOf(address, `${ROWS} ORDER BY 1, 2`)).toEqual(
    rowsOf(file, `${ROWS} ORDER BY 1, 2`).filter(({ organization, id }) => organization !== 'acme' || id !== SECOND),
  )
  expect(valueOf(address, 'SELECT count(*) FROM customers WHERE removed_at IS NOT NULL')).toBe(49)
  expect(said.join('\n') + stdout).not.toMatch(/hunter2|\.db\b|\bfile\b(?! 0)|\n {4}at |Unexpected/)
})

test('backup and restore name the commands of PostgreSQL, and a copy for readers is that of the file', async () => {
  const { file, address } = await aMirrorInBoth()
  const { folder } = aWorkplace(ORGANIZATIONS, { mirror: file })
  const run = (mirror: string, ...args: string[]) =>
    runCli(args, { cwd: folder, env: { CUSTOMER_MIRROR_MIRROR: mirror } })

  for (const [command, program] of [
    ['backup', 'pg_dump --format=custom'],
    ['restore', 'pg_restore --file=night.db.sql'],
  ] as const) {
    const refused = await run(withPassword(address), command, 'night.db')
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(program) })
    expect(refused.stderr).not.toContain('hunter2')
  }
  const copied = `SELECT * FROM customers ORDER BY organization, id`
  const [here, there] = [join(folder, 'here', 'copy.db'), join(folder, 'there', 'copy.db')]
  expect(await run(file, 'publish', here)).toMatchObject({ code: 0 })
  expect(await run(withPassword(address), 'publish', there)).toMatchObject({ code: 0 })
  expect(rowsOf(there, copied)).toEqual(rowsOf(here, copied))
})

test('a sync right after a move, there and back, finds all as it was and removes nothing; check finds it sound', async () => {
  const sandbox = await aSandbox({ customers: [130, 20] })
  const place = aWorkplace(organizationsOf(sandbox), { defaults: { scan: 'chain' } })
  const there = aPostgresMirror()
  const back = join(place.folder, 'back.db')
  const run = (mirror: string, ...args: string[]) =>
    runCli(args, { cwd: place.folder, env: { CUSTOMER_MIRROR_MIRROR: mirror } })
  expect(await run(place.mirror, 'sync')).toMatchObject({ code: 0 })

  for (const [from, to] of [
    [place.mirror, there],
    [there, back],
  ] as const) {
    expect(await run(from, 'move', '--to', to)).toMatchObject({ code: 0, stderr: '' })
    const synced = await run(to, 'sync', '--json')
    const { runs } = JSON.parse(synced.stdout)
    expect({ code: synced.code, runs }).toMatchObject({
      code: 0,
      runs: [130, 20].map((unchanged) => {
        return { status: 'complete', unchanged, inserted: 0, updated: 0, missing: 0, removed: 0, proof: 'proven' }
      }),
    })
    expect(await run(to, 'check')).toMatchObject({ code: 0, stdout: expect.stringMatching(/✔ mirror: .*sound/) })
  }

  expect(valueOf(back, 'SELECT count(*) FROM runs')).toBe(6)
  expect(valueOf(back, 'SELECT count(*) FROM changes')).toBe(0)
  // What was moved stays as it was.
  expect(valueOf(place.mirror, 'SELECT count(*) FROM runs')).toBe(2)
})

test('a sync that begins before its server does its work when the server is there', async () => {
  const address = new URL(aPostgresMirror())
  const server = { host: address.hostname, port: Number(address.port) }
  address.port = String(await freePort())
  const mirror = address.href
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [5] })), { mirror })
  const way = createServer((from) => {
    const to = connect(server)
    pipeline(from, to, from, () => {})
  })
  onTestFinished(() => void way.close())

  const ended = await runCli(['sync'], {
    cwd: folder,
    onStderr: (text) => text.includes('Waiting for it') && way.listen(Number(address.port), '127.0.0.1'),
  })

  expect(ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/acme +complete +5/) })
})

if (!isEmbedded) {
  test('cancel knows a sync under way in a mirror in PostgreSQL as in its file', async () => {
    const { file, address } = await aMirrorInBoth()
    const place = aJobsWorkplace(ORGANIZATIONS)
    const said: string[] = []

    for (const where of [file, withPassword(address)]) {
      const mirror = await openMirror(where)
      await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: Date.now() })
      const env = { CUSTOMER_MIRROR_MIRROR: where }
      const { code, stdout, stderr } = await runCli(['cancel', 'acme'], { cwd: place.folder, env })
      await mirror.close()
      said.push(`${code} ${stdout}${stderr}`)
    }

    expect(said[1]).toBe(said[0])
    expect(said[0]).toContain('Ctrl')
  })
}

/** Runs 3 and 4 hold back removals of acme and globex; initech has a reject. */
async function aMirrorInBoth(): Promise<{ file: string; address: string }> {
  const mirror = await aSqliteMirror()
  const removals = { rule: { after: 2, maxShare: 0.1 }, confirmed: new Set<string>() }
  const ending = { proof: 'proven', reasons: [], removals } as const
  for (const organization of ['acme', 'globex'])
    await mirrorPages(mirror, [customers(1, 100)], { organization, ending })
  const atMs = START_MS + MINUTE_MS
  await mirrorPages(mirror, [customers(51, 100)], { organization: 'acme', atMs, ending })
  await mirrorPages(mirror, [customers(61, 100)], { organization: 'globex', atMs, ending })
  await mirrorPages(mirror, [[...customers(201, 205), { name: 'Without an id' }]], { organization: 'initech', ending })
  const address = aPostgresMirror()
  const clocks = { nowMs: Date.now(), monotonicMs: undefined }
  const moving = { signal: new AbortController().signal, ...clocks }
  await moveMirror({ from: mirror.file, to: address }, moving)
  return { file: mirror.file, address }
}

/** The server asks for none. */
function withPassword(address: string): string {
  return Object.assign(new URL(address), { password: 'hunter2' }).href
}

/** Without the place of the mirror, and how long ago it was read. */
function masked(text: string, { file, address }: { file: string; address: string }): string {
  const shown = address.replace(/\/\/.*@/, '//')
  return text
    .replaceAll(file, 'THE MIRROR')
    .replaceAll(shown, 'THE MIRROR')
    .replaceAll(/(age\S* +|[Aa]ge\S*: )[\d.]+[^\n,]*/g, '$1…')
}
