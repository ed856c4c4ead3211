import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { syncCommand } from '../src/cli/sync.ts'
import { customerId } from './support/builders.ts'
import {
  bytes,
  cut,
  drip,
  envelopeOf,
  type FaultServer,
  html,
  list,
  refusal,
  type Reply,
} from './support/fault-server.ts'
import { onlyRun, type SyncRun } from './support/json-page.ts'
import { dump, rowsOf, valueOf } from './support/mirror-file.ts'
import { asPlainUser, runCli, withoutPrivileges } from './support/run-cli.ts'
import { type Done, runCommand } from './support/run-command.ts'
import { someOf } from './support/seeds.ts'
import { aFaultServer, aWorkplace, organizationAt } from './support/workplace.ts'

/** What a page of the list is in bytes, to be spoiled. */
const PAGE = JSON.stringify(envelopeOf(3, { page: 1, size: 100 }))

const TOO_LARGE = ' '.repeat(17 * 1024 * 1024)

const GZIP = { 'Content-Encoding': 'gzip' }

/** No message may end without telling what to do. */
const ADVICE = /\b(Check|Ask|Lower|Raise|Look for|Try|Wait|Set)\b/

const QUICK = { defaults: { maxWait: '0s', requestTimeout: '300ms' } }

test.each(
  someOf<[what: string, code: number, error: string, said: RegExp, reply: Reply]>([
    ['401', 4, 'unauthorized', /answered 401/, refusal(401, 'unauthorized', 'Who are you?')],
    ['403', 4, 'forbidden', /answered 403/, refusal(403, 'forbidden', 'Upgrade.')],
    ['404', 4, 'not-found', /answered 404/, refusal(404, 'not_found', 'Nothing here.')],
    ['422', 4, 'unprocessable', /answered 422/, refusal(422, 'validation_error', 'Invalid.')],
    ['HTML at 200', 3, 'bad-answer', /HTML/, html(200)],
    ['429', 5, 'rate-limited', /answered 429/, refusal(429, 'rate_limited', 'Slow down.')],
    ['another page than asked', 3, 'page-mismatch', /page 7 was answered/, list(3, { meta: { current_page: 7 } })],
    ['503 as HTML', 5, 'server-error', /answered 503/, html(503)],
    ['a body over the cap', 3, 'too-large', /larger than/, bytes(200, TOO_LARGE)],
    [
      'invalid UTF-8',
      3,
      'not-utf8',
      /not valid UTF-8/,
      bytes(200, Buffer.from(PAGE.replace('Customer 2', 'Customer \u00E9'), 'latin1')),
    ],
    ['a small body that swells over the cap', 3, 'too-large', /larger/, bytes(200, gzipSync(TOO_LARGE), GZIP)],
    ['a body that drips', 5, 'network', /within 0\.3 s/, drip(20)],
    ['a connection cut in the middle', 5, 'network', /broke/, cut(PAGE)],
  ]),
)(
  'an answer that cannot be used ends the run, and the rows stay unchanged: %s',
  async (_, code, error, said, reply) => {
    const { run, server, mirror, before, ...ended } = await syncTwice(
      reply,
      said.source.startsWith('within') ? QUICK : PATIENT,
    )

    expect({ code: ended.code, status: run.status, error: run.error?.code }).toEqual({ code, status: 'failed', error })
    expect(run.error?.message).toMatch(said)
    expect(run.error?.message).toContain(`GET ${server.origin}/api/v1/customers (page 1, per_page `)
    expect(ended.said).not.toMatch(/^\s+at |node_modules|\.ts:\d/m)
    expect(dump(mirror, ['customers', 'changes'])).toEqual(before)
    expect(valueOf(mirror, 'SELECT status || error_code FROM runs WHERE id = 2')).toBe(`failed${error}`)
    expect(run.error?.message).toMatch(ADVICE)
  },
)

test('a page that fails does not lose the pages before it', async () => {
  const server = await aFaultServer(list(250), html(200))
  const { config, mirror } = aWorkplace([organizationAt(server)], { defaults: { concurrency: 1, maxWait: '0s' } })
  const { code, stdout } = await runCommand(syncCommand, ['--json', '--config', config])

  expect(code).toBe(3)
  expect(onlyRun(stdout)).toMatchObject({ status: 'failed', pages: 1, received: 100, inserted: 100 })
  expect(onlyRun(stdout).error?.message).toContain('(page 2, per_page 100)')
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers WHERE removed_at IS NULL')).toBe(100)
})

test('odd records do not end the run: those that cannot be kept are rejects, and the others are read as what they mean', async () => {
  const [first, second] = envelopeOf(2, { page: 1, size: 2 }).data
  const odd = { id: customerId(10).toUpperCase(), phone: 15_550_100, email: 'no address', score: { stars: 5 } }
  const unreadable = [{ name: 'Nobody Fictional' }, { id: 7 }, null, 'text']
  const data = [...unreadable, { ...first, name: ['Two', 'Names'] }, second, { ...second, name: 'Again' }, odd]
  const { code, run, mirror, before } = await syncTwice(list(data.length, { envelope: { data } }))

  expect({ code, ...run }).toMatchObject({ code: 0, status: 'complete', rejected: 5, duplicates: 1, inserted: 1 })
  expect(rowsOf(mirror, 'SELECT * FROM customers WHERE row_id <= 3 ORDER BY row_id')).toEqual(Object(before).customers)
  expect(rowsOf(mirror, 'SELECT payload FROM rejects WHERE record_id IS NULL ORDER BY position')).toEqual(
    unreadable.map((record) => ({ payload: JSON.stringify(record) })),
  )
  expect(rowsOf(mirror, 'SELECT phone, email, extra FROM customers WHERE id = ?', customerId(10))).toEqual([
    { phone: '15550100', email: 'no address', extra: '{"score":{"stars":5}}' },
  ])
})

test('an empty list although customers are known: no customer is removed', async () => {
  const { code, run, mirror, before } = await syncTwice(list(0))

  expect({ code, received: run.received, removed: run.removed }).toEqual({ code: 0, received: 0, removed: 0 })
  expect(dump(mirror, ['customers', 'changes'])).toEqual(before)
})

/** For answers that come, however busy the machine is. */
const PATIENT = { defaults: { maxWait: '0s', requestTimeout: '1m' } }

/** Syncs against a server that has answered three customers once and then does as the case has it. */
async function syncTwice(
  reply: Reply,
  settings: Parameters<typeof aWorkplace>[1] = PATIENT,
): Promise<{ code: number; run: SyncRun; said: string; mirror: string; server: FaultServer; before: object }> {
  const server = await aFaultServer(list(3), reply)
  const { config: patient, mirror } = aWorkplace([organizationAt(server)], PATIENT)
  const { config } = aWorkplace([organizationAt(server)], { ...settings, mirror })
  await runCommand(syncCommand, ['--config', patient])
  const before = dump(mirror, ['customers', 'changes'])
  const { code, stdout, stderr } = await runCommand(syncCommand, ['--json', '--config', config])
  return { code, run: onlyRun(stdout), said: stdout + stderr, mirror, server, before }
}

type Place = Awaited<ReturnType<typeof aPlace>>

/** A service of 300 customers and a workplace that mirrors it. */
async function aPlace() {
  const server = await aFaultServer(list(300))
  return { server, ...aWorkplace([organizationAt(server)]) }
}

const sync = (place: Place, ...args: string[]) => runCli(['sync', ...args], { cwd: place.folder })

/** Nothing on standard output, no request, and no stack trace. */
function expectRefusal({ server }: Place, refused: Done, code: number, said: string) {
  expect(refused).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(said) })
  expect(refused.stderr).not.toMatch(/^\s+at |Unexpected|node_modules/m)
  expect(server.requests).toEqual([])
}

test.runIf(asPlainUser() !== undefined)('a configuration that this user may not read is refused', async () => {
  const place = await aPlace()
  chmodSync(place.folder, 0o755)
  chmodSync(place.config, 0o000)

  const refused = await withoutPrivileges(() => sync(place))
  expectRefusal(place, refused, 2, 'customer-mirror.yaml cannot be read: this user has no permission')
})

test('an unusable secret fails only its organization, before any request', async () => {
  const [one, other] = [await aFaultServer(list(3)), await aFaultServer(list(3))]
  const { folder, mirror } = aWorkplace([
    organizationAt(one, { secret: { env: 'EMPTY' } }),
    organizationAt(other, { id: 'globex' }),
  ])
  const { code, stderr } = await runCli(['sync'], { cwd: folder, env: { EMPTY: '' } })

  expect(code).toBe(3)
  expect(stderr).toMatch(/environment EMPTY .*organization acme.* is empty/)
  expect(one.requests).toEqual([])
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers')).toBe(3)
  expect(valueOf(mirror, `SELECT error_code FROM runs WHERE organization = 'acme'`)).toBe('config')
  expect((await runCli(['sync', 'acme'], { cwd: folder, env: { EMPTY: '' } })).code).toBe(2)
})

test('a mirror that is a file of something else is not changed', async () => {
  const place = await aPlace()
  const notes = 'Buy milk. '.repeat(500)
  writeFileSync(place.mirror, notes)

  const said = `${place.mirror}: file is not a database (SQLITE_NOTADB). It is not a mirror of ours`
  expectRefusal(place, await sync(place), 7, said)
  expect(readFileSync(place.mirror, 'utf8')).toBe(notes)
})

test('a wrong command line creates no mirror, and none is made where no folder can be', async () => {
  const place = await aPlace()
  const data = join(place.folder, 'data')
  rmSync(data, { recursive: true })

  expectRefusal(place, await sync(place, 'acne'), 2, 'unknown organization "acne" (did you mean "acme"?)')
  expect(existsSync(data)).toBe(false)
  writeFileSync(data, 'a file')
  expectRefusal(place, await sync(place), 7, 'not a directory (open, ENOTDIR)')
})
