import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openMirror } from '../../src/store/mirror.ts'
import { aRecord, list, refusal, type Reply } from '../support/fault-server.ts'
import type { SyncRun } from '../support/json-page.ts'
import { rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { aFaultServer, aSandbox, aWorkplace, organizationAt, organizationsOf } from '../support/workplace.ts'
import { newcomers } from '../../src/service/scenarios/scenario.ts'

const THROTTLED = refusal(429, 'rate_limited', 'Slow down.', { 'Retry-After': '3600' })

test('all customers are in a private file as the service has them; a second sync writes none; cron stays silent', async () => {
  const sandbox = await aSandbox({ customers: [230, 7, 0] })
  const { folder, mirror, run, json } = aWorkplace(organizationsOf(sandbox))
  rmSync(join(folder, 'data'), { recursive: true })
  const { code, stdout, stderr } = await run('sync')

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^acme +complete +230 +230 [^]*^globex +complete +7 +7 [^]*^initech +complete +0 +0 /m)
  expect([mirror, join(folder, 'data')].map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o700])
  const fields = 'id, name, username, email, phone, address, company_name, language, timezone, created_at'
  for (const { id, customers } of sandbox.organizations)
    expect(rowsOf(mirror, `SELECT ${fields} FROM customers WHERE organization = ? ORDER BY id`, id)).toEqual(
      customers.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    )

  const before = rowsOf(mirror, 'SELECT * FROM customers')
  const [again] = (await json('sync')).runs
  expect(again).toMatchObject({ received: 230, inserted: 0, updated: 0, unchanged: 230 })
  expect(rowsOf(mirror, 'SELECT * FROM customers')).toEqual(before)
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM changes')).toBe(0)
})

test('an unusable secret fails only its organization, before any request', async () => {
  const [one, other] = [await aFaultServer(list(3)), await aFaultServer(list(3))]
  const unusable = organizationAt(one, { secret: { env: 'EMPTY' } })
  const { run, mirror } = aWorkplace([unusable, organizationAt(other, { id: 'globex' })])
  const { code, stderr } = await run('sync', { env: { EMPTY: '' } })

  expect({ code, requests: one.requests }).toEqual({ code: 3, requests: [] })
  expect(stderr).toMatch(/environment EMPTY .*organization acme.* is empty/)
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers')).toBe(3)
  expect(valueOf(mirror, `SELECT error_code FROM runs WHERE organization = 'acme'`)).toBe('config')
  expect((await run('sync acme', { env: { EMPTY: '' } })).code).toBe(2)
})

test('--json prints one line; its runs are those of the mirror: those that are named, once each, in that order', async () => {
  const place = aWorkplace(organizationsOf(await aSandbox({ customers: [120, 7, 5], forbidden: ['globex'] })))
  const { stdout } = await place.run('sync --json globex acme globex')
  const { runs }: { runs: SyncRun[] } = JSON.parse(stdout)

  expect(stdout.trimEnd()).not.toContain('\n')
  expect(runs).toMatchObject([
    { organization: 'globex', status: 'failed', received: 0, error: { code: 'forbidden' } },
    {
      ...{ organization: 'acme', status: 'complete', received: 120 },
      ...{ proof: 'unproven', reasons: ['plain-scan'], error: null },
    },
  ])
  const inMirror = rowsOf(place.mirror, 'SELECT id, organization FROM runs ORDER BY organization DESC')
  expect(runs.map(({ runId, organization }) => ({ id: runId, organization }))).toEqual(inMirror)
})

test('--dry-run prints what it would write, the first of many, and all of it as JSON, under no number; it makes no file and changes no byte', async () => {
  const others = Array.from({ length: 79 }, (_, index) => aRecord(index + 2))
  const later = list(80, { envelope: { data: [{ ...aRecord(1), name: 'Renamed' }, ...others] } })
  const place = aWorkplace([organizationAt(await aFaultServer(list(1), list(1), later))])
  rmSync(join(place.folder, 'data'), { recursive: true })
  const { code, stdout } = await place.run('sync --dry-run')

  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('Dry run: nothing was written.') })
  expect(existsSync(join(place.folder, 'data'))).toBe(false)

  await place.run('sync')
  const before = readFileSync(place.mirror)
  const shown = await place.run('sync --dry-run')
  const { changes, runs } = await place.json('sync --dry-run')
  expect(shown.stdout.match(/^acme +(added|changed) /gm)).toHaveLength(50)
  expect(changes).toHaveLength(80)
  expect(changes[0]).toMatchObject({ organization: 'acme', change: 'changed', after: 'Renamed' })
  expect(runs).toMatchObject([{ runId: null, received: 80, inserted: 79 }])
  expect(readFileSync(place.mirror).equals(before)).toBe(true)
  expect(readdirSync(join(place.mirror, '..'))).toEqual(['customers.db'])
})

const REFUSED = [401, 403, 404].map((status) => refusal(status, 'refused', 'No.'))

test.each<[what: string, replies: Reply[], code: number, errors: (string | undefined)[]]>([
  ['one that is refused stops no other', [list(7), REFUSED[1]!, list(0)], 3, [undefined, 'forbidden', undefined]],
  ['all are refused', REFUSED, 4, ['unauthorized', 'forbidden', 'not-found']],
  ['all are throttled for longer than maxWait', [THROTTLED], 5, ['rate-limited']],
])('%s: the exit code, the runs, and what to do', async (_, replies, code, errors) => {
  const servers = await Promise.all(replies.map((reply) => aFaultServer(reply)))
  const place = aWorkplace(servers.map((server, index) => organizationAt(server, { id: `shop-${index}` })))
  const done = await place.run('sync --json')

  expect(done.code).toBe(code)
  const { runs }: { runs: SyncRun[] } = JSON.parse(done.stdout)
  expect(runs.map(({ error }) => error?.code)).toEqual(errors)
  expect(done.stderr.match(/^✖ /gm)).toHaveLength(errors.filter((error) => error !== undefined).length)
  expect(done.stderr).toContain('  customer-mirror runs show ')
  expect(servers.map(({ requests }) => requests.length)).toEqual(errors.map(() => 1))
})

test('an organization held by another run does not delay the others; alone it ends with 6', async () => {
  const server = await aFaultServer(list(3))
  const place = aWorkplace([organizationAt(server), organizationAt(server, { id: 'globex', apiKey: 'another-key' })])
  const other = await openMirror(place.mirror)
  onTestFinished(() => other.close())
  await other.startRun({ organization: 'acme', trigger: 'sync', nowMs: Date.now() })
  const both = await place.run('sync')
  const { code, stdout, stderr } = await place.run('sync acme --json')

  expect(both.code).toBe(3)
  expect(valueOf(place.mirror, `SELECT COUNT(*) FROM customers WHERE organization = 'globex'`)).toBe(3)
  expect(code).toBe(6)
  expect(JSON.parse(stdout).runs).toMatchObject([{ status: 'failed', reasons: ['held'], error: { code: 'leased' } }])
  expect(stderr).toMatch(/run 1 \(process .+\) is mirroring it now\. Let it finish, or stop it/)
  expect(server.requests).toHaveLength(1)
  const complete = expect.stringContaining('complete')
  expect(await place.run('sync acme --dry-run')).toMatchObject({ code: 0, stdout: complete })
})

test('--quick asks for a full run first, then says what it found and how much it did not read, or that it came to its limit; with --dry-run it changes nothing', async () => {
  const sandbox = await aSandbox({ customers: [1200] })
  const place = aWorkplace(organizationsOf(sandbox, { pageSize: 20 }))
  const advice = expect.stringContaining('  customer-mirror sync acme\n')
  expect(await place.run('sync --quick')).toMatchObject({ code: 3, stderr: advice })
  expect(valueOf(place.mirror, 'SELECT requests FROM runs')).toBe(0)
  await place.run('sync')
  const { list: listed } = sandbox.organizations[0]!
  const [last, ...gone] = [-1, 180, 340].map((at) => listed.rows().at(at))
  for (const customer of gone) listed.delete(customer?.id ?? '')
  listed.insert(newcomers('new')(last?.created_at ?? ''))
  const dry = await place.json('sync --quick --dry-run')
  const runsBefore = valueOf(place.mirror, 'SELECT COUNT(*) FROM runs')
  const { code, stdout, stderr } = await place.run('sync --quick')

  expect([dry.runs, runsBefore]).toMatchObject([[{ status: 'partial', inserted: 1, missing: 2 }], 2])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^acme: .* customers: 1 new, .*2 missing · .* · partial \(quick\), \d+ pages trusted/m)
  expect(valueOf(place.mirror, 'SELECT COUNT(*) FROM customers WHERE missing_since IS NOT NULL')).toBe(2)
  const [run] = (await place.json('sync acme --quick')).runs
  expect(run).toMatchObject({ status: 'partial', proof: 'unproven', reasons: ['quick'], inserted: 0 })
  expect(run.trustedPages).toBeGreaterThan(10)

  const ids = listed.rows().map(({ id }) => id)
  for (let row = 30; row < ids.length; row += 60) listed.delete(ids[row] ?? '')
  const said = expect.stringContaining('acme: the run stopped at its limit, after 40 requests.')
  expect(await place.run('sync --quick')).toMatchObject({ code: 5, stderr: said })
})

test('the current page is finished and kept when a stop comes, no other is requested, and the next sync continues; a dry run says that nothing was saved', async () => {
  const [dry, stop] = [new AbortController(), new AbortController()]
  const server = await aFaultServer(list(900), stopping(dry, 900), list(900), stopping(stop, 900), list(900))
  const { run, mirror } = aWorkplace([organizationAt(server)], { defaults: { scan: 'chain', concurrency: 1 } })
  const rehearsed = await run('sync --dry-run', { signal: dry.signal })
  const stopped = await run('sync', { signal: stop.signal })
  const asked = server.requests.length
  const again = await run('sync')

  expect(rehearsed.stderr).toContain('It was a dry run: nothing was saved.')
  expect([stopped.code, asked]).toEqual([1, 4])
  expect(stopped.stderr).toContain('The rows read so far are saved; sync again to continue.')
  expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^acme +complete \(resumed\) +900 /m) })
  const [first, second] = rowsOf(mirror, 'SELECT inserted, resumed_from, read_before FROM runs ORDER BY id')
  expect(second).toMatchObject({ resumed_from: 1, read_before: first?.['inserted'] })
})

test('a sync deletes what the configuration no longer keeps, and says so', async () => {
  const place = aWorkplace(organizationsOf(await aSandbox({ customers: [12] }), { retention: { changes: '30d' } }))
  await place.run('sync')
  tamper(
    place.mirror,
    `INSERT INTO changes (run_id, organization, id, change, changed_at) VALUES (1, 'acme', 'x', 'changed', '2020-01-01 00:00:00.000')`,
  )
  const [{ pruned }] = (await place.json('sync')).runs

  expect(pruned).toMatchObject({ changes: 1, isUnfinished: false, error: null })
  expect(rowsOf(place.mirror, 'SELECT feed_seq FROM horizons')).toEqual([{ feed_seq: 1 }])
})

/** Asks for the stop, and answers all the same. */
function stopping(stop: AbortController, total: number): Reply {
  return async (response, request) => {
    stop.abort()
    await list(total)(response, request)
  }
}
