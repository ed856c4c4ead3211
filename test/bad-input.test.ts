import { existsSync, rmSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, test } from 'vitest'
import { syncCommand } from '../src/cli/sync.ts'
import { customerId } from './support/builders.ts'
import {
  bytes,
  cut,
  drip,
  envelopeOf,
  type FaultServer,
  hang,
  html,
  json,
  list,
  redirect,
  refusal,
  type Reply,
  slam,
} from './support/fault-server.ts'
import { onlyRun, type SyncRun } from './support/json-page.ts'
import { dump, rowsOf, valueOf } from './support/mirror-file.ts'
import { asPlainUser, runCli } from './support/run-cli.ts'
import type { Done } from './support/run-command.ts'
import { runCommand } from './support/run-command.ts'
import { someOf } from './support/seeds.ts'
import { withoutPrivileges } from './support/run-cli.ts'
import { aFaultServer, aWorkplace, organizationAt, type Workplace } from './support/workplace.ts'

/** What a page of the list is in bytes, to be spoiled. */
const PAGE = JSON.stringify(envelopeOf(3, { page: 1, size: 100 }))

const TOO_LARGE = ' '.repeat(17 * 1024 * 1024)

const JSON_TYPE = { 'Content-Type': 'application/json' }

/** No message may end without telling what to do. */
const ADVICE = /\b(Check|Ask|Lower|Raise|Look for|Try|Wait|Set)\b/

const QUICK = { defaults: { maxWait: '0s', requestTimeout: '300ms' } }

describe('an answer that cannot be used ends the run, and the rows stay unchanged', () => {
  test.each(
    someOf<[what: string, code: number, error: string, said: RegExp, reply: Reply]>([
      ['401', 4, 'unauthorized', /answered 401/, refusal(401, 'unauthorized', 'Who are you?')],
      ['401 as HTML', 4, 'unauthorized', /answered 401/, html(401)],
      ['403', 4, 'forbidden', /answered 403/, refusal(403, 'forbidden', 'Upgrade.')],
      ['404', 4, 'not-found', /answered 404/, refusal(404, 'not_found', 'Nothing here.')],
      ['422', 4, 'unprocessable', /answered 422/, refusal(422, 'validation_error', 'Invalid.')],
      ['429', 5, 'rate-limited', /answered 429/, refusal(429, 'rate_limited', 'Slow down.')],
      ['500', 5, 'server-error', /answered 500/, refusal(500, 'server_error', 'Oops.')],
      ['503 as HTML', 5, 'server-error', /answered 503/, html(503)],
      ['an unknown status', 3, 'bad-answer', /answered 418/, html(418)],
      ['HTML at 200', 3, 'bad-answer', /HTML/, html(200)],
      ['an empty body', 3, 'bad-answer', /empty body/, bytes(200, '', JSON_TYPE)],
      ['JSON that ends too early', 3, 'bad-answer', /cut off/, bytes(200, PAGE.slice(0, -20), JSON_TYPE)],
      ['notices before the JSON', 3, 'bad-answer', /answered/, bytes(200, `Notice: x in y.php\n${PAGE}`, JSON_TYPE)],
      ['success: false at 200', 3, 'bad-answer', /success must be true/, list(3, { envelope: { success: false } })],
      ['no data', 3, 'bad-answer', /data must be a list/, list(3, { envelope: { data: null } })],
      ['no meta', 3, 'bad-answer', /meta must be an object/, json(200, { success: true, data: [] })],
      ['a bare list', 3, 'bad-answer', /not the documented list/, json(200, [])],
      ['another page than asked', 3, 'page-mismatch', /page 7 was answered/, list(3, { meta: { current_page: 7 } })],
      [
        'a list that begins before page 1',
        3,
        'page-mismatch',
        /begins at position 11/,
        list(3, { meta: { from: 11 } }),
      ],
      ['more records than the page holds', 3, 'page-mismatch', /3 records/, list(3, { meta: { per_page: 2 } })],
      ['a body over the cap', 3, 'too-large', /larger than/, bytes(200, TOO_LARGE, JSON_TYPE)],
      [
        'a small body that swells over the cap',
        3,
        'too-large',
        /larger than/,
        bytes(200, gzipSync(TOO_LARGE), { ...JSON_TYPE, 'Content-Encoding': 'gzip' }),
      ],
      ['an encoding that is none', 3, 'bad-answer', /encoding/, bytes(200, PAGE, { 'Content-Encoding': 'gzip' })],
      [
        'invalid UTF-8',
        3,
        'not-utf8',
        /not valid UTF-8/,
        bytes(200, Buffer.from(PAGE.replace('Customer 2', 'Customer \u00E9'), 'latin1'), JSON_TYPE),
      ],
      ['a body that hangs', 5, 'network', /within 0\.3 s/, hang()],
      ['a body that drips', 5, 'network', /within 0\.3 s/, drip(20)],
      ['a connection cut in the middle', 5, 'network', /broke/, cut(PAGE)],
      ['a connection closed without a word', 5, 'network', /broke/, slam()],
    ]),
  )('%s', async (_, code, error, said, reply) => {
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
  })

  test.each(someOf([301, 302, 303, 307, 308]))(
    'a redirect with %d to another host, which receives no request',
    async (status) => {
      const other = await aFaultServer(list(3))
      const { code, run, server, mirror, before } = await syncTwice(
        redirect(status, `${other.origin}/api/v1/customers`),
      )

      expect({ code, error: run.error?.code }).toEqual({ code: 3, error: 'bad-answer' })
      expect(run.error?.message).toContain(`GET ${server.origin}/api/v1/customers`)
      expect(run.error?.message).toContain(
        `a redirect to the host ${new URL(other.origin).host}, which is never followed`,
      )
      expect(run.error?.message).toMatch(ADVICE)
      expect(other.requests).toEqual([])
      expect(server.requests).toHaveLength(2)
      expect(dump(mirror, ['customers', 'changes'])).toEqual(before)
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

  test('the same page under another number, which removes no customer', async () => {
    const stale: Reply = (response, request) => {
      const { page, size } = request
      const { data } = envelopeOf(200, { page: 1, size })
      return json(200, { ...envelopeOf(200, { page, size }), data })(response, request)
    }
    const server = await aFaultServer(stale)
    const { config } = aWorkplace([organizationAt(server)], PATIENT)
    const { code, stdout } = await runCommand(syncCommand, ['--json', '--config', config])
    const { status, proof, removed, error } = onlyRun(stdout)

    expect({ code, status, proof, removed, error: error?.code }).toEqual({
      ...{ code: 3, status: 'failed', proof: 'unproven', removed: 0 },
      error: 'repeated-page',
    })
  })
})

describe('odd records do not end the run', () => {
  const records = (...data: unknown[]): Reply => list(data.length, { envelope: { data } })

  test('without a readable id: kept as rejects and reported, and the rows stay', async () => {
    const { code, run, mirror, before } = await syncTwice(
      records({ name: 'Nobody Fictional' }, { id: 7 }, null, 'text'),
    )

    expect({ code, status: run.status, rejected: run.rejected }).toEqual({ code: 0, status: 'complete', rejected: 4 })
    expect(dump(mirror, ['customers', 'changes'])).toEqual(before)
    expect(rowsOf(mirror, 'SELECT position, payload FROM rejects ORDER BY position')).toEqual([
      { position: 0, payload: '{"name":"Nobody Fictional"}' },
      { position: 1, payload: '{"id":7}' },
      { position: 2, payload: 'null' },
      { position: 3, payload: '"text"' },
    ])
  })

  test('a field that is a list: rejected, and its customer keeps its last good values', async () => {
    const [first] = envelopeOf(1, { page: 1, size: 1 }).data
    const { code, run, mirror, before } = await syncTwice(records({ ...first, name: ['Two', 'Names'] }))

    expect({ code, rejected: run.rejected }).toEqual({ code: 0, rejected: 1 })
    expect(dump(mirror, ['customers'])).toMatchObject({ customers: Object(before).customers })
  })

  test('the same customer twice: kept once, as first read', async () => {
    const twin = { id: customerId(1), name: 'First' }
    const { code, run, mirror } = await syncTwice(records(twin, { ...twin, name: 'Second' }))

    expect({ code, inserted: run.inserted, duplicates: run.duplicates }).toEqual({
      code: 0,
      inserted: 1,
      duplicates: 1,
    })
    expect(valueOf(mirror, 'SELECT name FROM customers WHERE id = ?', customerId(1))).toBe('First')
  })

  test('numbers for text, ids in capitals, unknown fields: kept, and read as what they mean', async () => {
    const odd = { id: customerId(10).toUpperCase(), phone: 15_550_100, email: 'no address', score: { stars: 5 } }
    const { code, run, mirror } = await syncTwice(records(odd))

    expect({ code, inserted: run.inserted, rejected: run.rejected }).toEqual({ code: 0, inserted: 1, rejected: 0 })
    expect(rowsOf(mirror, 'SELECT phone, email, extra FROM customers WHERE id = ?', customerId(10))).toEqual([
      { phone: '15550100', email: 'no address', extra: '{"score":{"stars":5}}' },
    ])
  })

  test('the same UUID in two organizations: two customers', async () => {
    const shared = { id: customerId(1), name: 'Shared' }
    const others = [2, 3, 4].map((number) => ({ id: customerId(number) }))
    const one = await aFaultServer(records(shared))
    const other = await aFaultServer(records(...others, { ...shared, name: 'Shared too' }))
    const { config, mirror } = aWorkplace([organizationAt(one), organizationAt(other, { id: 'globex' })])
    const { code } = await runCommand(syncCommand, ['--config', config])

    expect(code).toBe(0)
    expect(rowsOf(mirror, 'SELECT organization, name FROM customers WHERE id = ?', customerId(1))).toEqual(
      expect.arrayContaining([
        { organization: 'acme', name: 'Shared' },
        { organization: 'globex', name: 'Shared too' },
      ]),
    )
    expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers')).toBe(5)
  })

  test('an empty list although customers are known: no customer is removed', async () => {
    const { code, run, mirror, before } = await syncTwice(list(0))

    expect({ code, received: run.received, removed: run.removed }).toEqual({ code: 0, received: 0, removed: 0 })
    expect(dump(mirror, ['customers', 'changes'])).toEqual(before)
  })
})

/** For answers that come, however busy the machine is. */
export const PATIENT = { defaults: { maxWait: '0s', requestTimeout: '1m' } }

/** Syncs against a server that has answered three customers once and then does as the case has it. */
export async function syncTwice(
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

const PLAIN_USER = asPlainUser()
const here = mirroringHere()

describe('a configuration that cannot be used', () => {
  test.each<[what: string, said: RegExp, spoil: (file: string) => void]>([
    ['is missing', /^other\.yaml does not exist: run 'customer-mirror init'/, () => undefined],
    ['is a folder', /^other\.yaml is a folder, not a file\n$/, (file) => mkdirSync(file)],
  ])('%s', async (_, said, spoil) => {
    spoil(join(here.workplace.folder, 'other.yaml'))

    here.expectRefusal(await here.sync('--config', 'other.yaml'), said)
  })

  test('has mistakes, which are all reported with their places', async () => {
    writeFileSync(
      join(here.workplace.folder, 'other.yaml'),
      'miror: x.db\norganizations:\n  - id: acme\n    baseUrl: http://acme.example.com\n    apiKey: typed-in-here\n    secret: { env: A }\n',
    )

    here.expectRefusal(
      await here.sync('--config', 'other.yaml'),
      /^other\.yaml:1:1 .*did you mean "mirror"\?/m,
      /^other\.yaml:4:14 organizations\.0\.baseUrl: must be an https URL/m,
      /^other\.yaml:5:13 organizations\.0\.apiKey: must not be written into this file/m,
    )
  })

  if (PLAIN_USER !== undefined) {
    test('may not be read by this user', async () => {
      chmodSync(here.workplace.folder, 0o755)
      chmodSync(here.workplace.config, 0o000)
      const ended = await withoutPrivileges(() => here.sync())

      here.expectRefusal(ended, 'customer-mirror.yaml cannot be read: this user has no permission')
    })
  }
})

describe('an unusable secret fails only its organization, before any request', () => {
  test.each<[what: string, reference: object, said: RegExp]>([
    ['a variable that is empty', { env: 'EMPTY' }, /environment EMPTY .* is empty/],
    ['a folder', { file: './data' }, /\/data .* is a folder/],
  ])('%s', async (_, reference, said) => {
    const other = await aFaultServer(list(3))
    const { folder, mirror } = aWorkplace([
      organizationAt(here.server, { secret: reference }),
      organizationAt(other, { id: 'globex' }),
    ])
    const { code, stderr } = await runCli(['sync'], { cwd: folder, env: { EMPTY: '' } })

    expect(code).toBe(3)
    expect(stderr).toMatch(said)
    expect(stderr).toContain('organization acme')
    expect(here.server.requests).toEqual([])
    expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers')).toBe(3)
    expect(valueOf(mirror, `SELECT error_code FROM runs WHERE organization = 'acme'`)).toBe('config')
    expect((await runCli(['sync', 'acme'], { cwd: folder, env: { EMPTY: '' } })).code).toBe(2)
  })
})

test('a mirror that is a file of something else is not changed', async () => {
  const notes = 'Buy milk. '.repeat(500)
  writeFileSync(here.workplace.mirror, notes)

  here.expectMirrorRefused(
    await here.sync(),
    `${here.workplace.mirror}: file is not a database (SQLITE_NOTADB). It is not a mirror of ours`,
  )
  expect(readFileSync(here.workplace.mirror, 'utf8')).toBe(notes)
})

test('a wrong command line creates no mirror, and none is made where no folder can be', async () => {
  const data = join(here.workplace.folder, 'data')
  rmSync(data, { recursive: true })

  here.expectRefusal(await here.sync('acne'), 'unknown organization "acne" (did you mean "acme"?)')
  expect(existsSync(data)).toBe(false)
  writeFileSync(data, 'a file')
  here.expectMirrorRefused(await here.sync(), 'not a directory (open, ENOTDIR)')
})

/** A service of 300 customers and a workplace that mirrors it, anew for each test of the file. */
export function mirroringHere() {
  const place: { server: FaultServer; workplace: Workplace } = Object.create(null)
  beforeEach(async () => {
    place.server = await aFaultServer(list(300))
    place.workplace = aWorkplace([organizationAt(place.server)])
  })
  const expectEnd = (expected: number, { code, stdout, stderr }: Done, said: (string | RegExp)[]): void => {
    expect({ code, stdout }).toEqual({ code: expected, stdout: '' })
    for (const part of said) expect(stderr).toMatch(part)
    expect(stderr).not.toMatch(/^\s+at |Unexpected|node_modules/m)
    expect(place.server.requests).toEqual([])
  }
  return Object.assign(place, {
    sync: (...args: string[]): Promise<Done> => runCli(['sync', ...args], { cwd: place.workplace.folder }),
    /** A user's mistake: code 2, nothing on standard output, no request, and no stack trace. */
    expectRefusal: (ended: Done, ...said: (string | RegExp)[]): void => expectEnd(2, ended, said),
    /** A mirror that cannot be used as it is: code 7, and the rest as for a mistake. */
    expectMirrorRefused: (ended: Done, ...said: (string | RegExp)[]): void => expectEnd(7, ended, said),
  })
}
