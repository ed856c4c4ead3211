import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { syncCommand } from '../src/cli/sync.ts'
import { bytes, cut, drip, envelopeOf, list, refusal, type Reply } from './support/fault-server.ts'
import { onlyRun } from './support/json-page.ts'
import { dump, valueOf } from './support/mirror-file.ts'
import { asPlainUser, runCli, withoutPrivileges } from './support/run-cli.ts'
import { type Done, runCommand } from './support/run-command.ts'
import { someOf } from './support/seeds.ts'
import { aFaultServer, aWorkplace, organizationAt } from './support/workplace.ts'

/** What a page of the list is in bytes, to be spoiled. */
const PAGE = JSON.stringify(envelopeOf(3, { page: 1, size: 100 }))

const LATIN = Buffer.from(PAGE.replace('Customer 2', 'Customer \u00E9'), 'latin1')
const TOO_LARGE = ' '.repeat(17 * 1024 * 1024)

const GZIP = { 'Content-Encoding': 'gzip' }

/** No message may end without telling what to do. */
const ADVICE = /\b(Check|Ask|Lower|Raise|Look for|Try|Wait|Set)\b/

/** For answers that come, however busy the machine is. */
const PATIENT = { defaults: { maxWait: '0s', requestTimeout: '1m' } }
const QUICK = { defaults: { maxWait: '0s', requestTimeout: '300ms' } }

test.each(
  someOf<[what: string, code: number, error: string, said: RegExp, reply: Reply]>([
    ['401', 4, 'unauthorized', /answered 401/, refusal(401, 'unauthorized', 'Who are you?')],
    ['429', 5, 'rate-limited', /answered 429/, refusal(429, 'rate_limited', 'Slow down.')],
    ['another page than asked', 3, 'page-mismatch', /page 7 was answered/, list(3, { meta: { current_page: 7 } })],
    ['a body over the cap', 3, 'too-large', /larger than/, bytes(200, TOO_LARGE)],
    ['a small body that swells over the cap', 3, 'too-large', /larger/, bytes(200, gzipSync(TOO_LARGE), GZIP)],
    ['invalid UTF-8', 3, 'not-utf8', /not valid UTF-8/, bytes(200, LATIN)],
    ['a body that drips', 5, 'network', /within 0\.3 s/, drip(20)],
    ['a connection cut in the middle', 5, 'network', /broke/, cut(PAGE)],
  ]),
)(
  'an answer that cannot be used ends the run, and the rows stay unchanged: %s',
  async (_, code, error, said, reply) => {
    const server = await aFaultServer(list(3), reply)
    const { config: patient, mirror } = aWorkplace([organizationAt(server)], PATIENT)
    const { config } = aWorkplace([organizationAt(server)], {
      ...(said.source.startsWith('within') ? QUICK : PATIENT),
      mirror,
    })
    await runCommand(syncCommand, ['--config', patient])
    const before = dump(mirror, ['customers', 'changes'])
    const ended = await runCommand(syncCommand, ['--json', '--config', config])
    const run = onlyRun(ended.stdout)

    expect({ code: ended.code, status: run.status, error: run.error?.code }).toEqual({ code, status: 'failed', error })
    for (const part of [said, ADVICE]) expect(run.error?.message).toMatch(part)
    expect(run.error?.message).toContain(`GET ${server.origin}/api/v1/customers (page 1, per_page `)
    expect(ended.stdout + ended.stderr).not.toMatch(/^\s+at |node_modules|\.ts:\d/m)
    expect(dump(mirror, ['customers', 'changes'])).toEqual(before)
    expect(valueOf(mirror, 'SELECT status || error_code FROM runs WHERE id = 2')).toBe(`failed${error}`)
  },
)

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

test('a wrong command line creates no mirror, and none is made where no folder can be', async () => {
  const place = await aPlace()
  const data = join(place.folder, 'data')
  rmSync(data, { recursive: true })

  expectRefusal(place, await sync(place, 'acne'), 2, 'unknown organization "acne" (did you mean "acme"?)')
  expect(existsSync(data)).toBe(false)
  writeFileSync(data, 'a file')
  expectRefusal(place, await sync(place), 7, 'not a directory (open, ENOTDIR)')
})
