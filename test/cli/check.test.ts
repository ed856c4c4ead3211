import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { written } from '../support/commands.ts'
import { aReceiver, bytes, faultServer, hang, html, list, refusal, type Reply } from '../support/fault-server.ts'
import { temporaryFolder } from '../support/mirror-file.ts'
import { aSandbox, aWorkplace, organizationAt, organizationsOf, type Workplace } from '../support/workplace.ts'

/** What `check` ends with, and each finding: its mark, what it says, and the fix below it. */
async function check({ run }: Pick<Workplace, 'run'>, line = 'check') {
  const { code, stdout, stderr } = await run(line)
  const found = stdout.split(/\n(?=\S)/).map((text) => text.trimEnd())
  const of = (what: string) => found.find((text) => text.slice(2).startsWith(`${what}: `)) ?? `nothing about ${what}`
  return { code, stdout, stderr, of, what: found.map((text) => text.slice(2).split(': ')[0]) }
}

const organizations = async (customers = [1]) => organizationsOf(await aSandbox({ customers }))

const checked = async (settings: Parameters<typeof aWorkplace>[1]) => check(aWorkplace(await organizations(), settings))

test('reports everything a sync needs, makes nothing, and ends with 0 when all is well', async () => {
  const place = aWorkplace(await organizations([1200, 7]))
  writeFileSync(place.mirror, '')
  const { code, stderr, of, what } = await check(place)

  expect({ code, stderr, size: statSync(place.mirror).size }).toEqual({ code: 0, stderr: '', size: 0 })
  expect(what).toEqual(['Node', 'configuration', 'mirror', 'acme', 'globex'])
  expect(of('acme')).toMatch(/^✔ .* 1,200 customers, clocks agree$/)
  expect(of('globex')).toMatch(/^✔ .* 7 customers, /)

  await place.run('sync')
  expect((await check(place)).of('mirror')).toMatch(/^✔ .* sound and writable$/)

  const full = vi.spyOn(promises, 'statfs').mockResolvedValue(Object.assign(await promises.statfs('/'), { bavail: 3 }))
  syncBuiltinESMExports()
  expect((await check(place)).of('mirror')).toMatch(/^✖ .* for less than a megabyte\. Free some space/)
  full.mockRestore()
  syncBuiltinESMExports()
})

test.each<[title: string, fix: RegExp, code: number, reply: Reply]>([
  ['bad key', /signing explain acme.*signing solve/, 4, refusal(401, 'invalid_signature', 'The signature is another.')],
  ['throttled', /requestsPerMinute/, 5, refusal(429, 'rate_limited', 'Slow down.', { 'Retry-After': '60' })],
  ['service failing', /has to recover/, 5, html(500)],
  ['not the documented', /baseUrl is the final address/, 3, bytes(302, '', { Location: 'http://127.0.0.1:9/login' })],
])('an answer that means "%s" is explained with its fix, after one request', async (title, fix, code, reply) => {
  const server = await faultServer(reply)
  const done = await check(aWorkplace([organizationAt(server)]))

  expect(done.code).toBe(code)
  expect(done.of('acme')).toMatch(new RegExp(`^✖ acme: ${title}.* GET ${server.origin}/api/v1/customers`))
  expect(done.of('acme')).toMatch(new RegExp(`\n    fix: (?!.*<organization>).*${fix.source}`))
  expect(server.requests).toHaveLength(1)
})

test('Ctrl-C while a service is asked is no defect', async () => {
  const server = await faultServer(hang())
  const stop = new AbortController()
  const checking = aWorkplace([organizationAt(server)]).run('check', { signal: stop.signal })
  await expect.poll(() => server.requests.length).toBe(1)
  stop.abort()

  expect(await checking).toMatchObject({ stderr: '' })
})

test.each([
  ['✔', 120_000, /ahead of ours$/],
  ['!', 3_600_000, /ahead of ours, .*\n {4}fix: Set the clock of this machine/],
  ['!', -3_600_000, /behind ours, /],
])('a clock is reported with %s where it differs by %i ms', async (mark, offsetMs, said) => {
  const sandbox = await aSandbox({ customers: [1], now: () => Date.now() + offsetMs })
  const { code, of } = await check(aWorkplace(organizationsOf(sandbox)))

  expect({ code, mark: of('acme')[0] }).toEqual({ code: 0, mark })
  expect(of('acme')).toMatch(said)
})

test('all missing secrets of an organization are named below its name, and the others are still checked', async () => {
  const server = await faultServer(list(1))
  const secrets = { apiKey: { env: 'NO_SUCH_KEY' }, secret: { file: './no-such-file' } }
  const place = aWorkplace([organizationAt(server, secrets), organizationAt(server, { id: 'globex' })])
  const { code, of } = await check(place)

  expect(code).toBe(3)
  expect(of('acme')).toMatch(/^✖ .*NO_SUCH_KEY.*\n {4}.*no-such-file[^]*fix: /)
  expect(of('globex')).toMatch(/^✔/)
  expect((await check(place, 'check acme')).code).toBe(2)
})

test('a secret file that every user may read is a warning with the command that fixes it', async () => {
  const [organization] = await organizations()
  const place = aWorkplace([{ ...organization!, apiKey: { file: './key' }, secret: { file: "./acme's secret" } }])
  const [key, secret] = [join(place.folder, 'key'), join(place.folder, "acme's secret")]
  writeFileSync(key, String(organization?.apiKey))
  writeFileSync(secret, String(organization?.secret))
  chmodSync(key, 0o640)
  chmodSync(secret, 0o644)
  const before = await check(place)

  expect(before).toMatchObject({ code: 0, what: expect.not.arrayContaining(['API key of acme']) })
  const [said, fix = ''] = before.of('secret of acme').split('\n    fix: ')
  expect(said).toBe(`! secret of acme: every user of this machine has access to ${secret} (its mode is 644)`)
  execFileSync('/bin/sh', ['-c', fix])
  expect((await check(place)).what).not.toContain('secret of acme')
})

test('a mirror where nothing can be made is reported, and with an organization that is refused it ends with 3', async () => {
  const mirror = '/proc/none/customers.db'
  const forbidden = await faultServer(refusal(403, 'forbidden', 'Upgrade.'))
  const { code, of } = await check(aWorkplace([organizationAt(forbidden)], { mirror }))

  expect(code).toBe(3)
  expect(of('mirror')).toMatch(/^✖ mirror: \/proc\/none\/customers\.db: .* \(mkdtemp, \w+\)\. Check the name/)
})

test.each([
  ['no secret', undefined, /^✔ notify: a report of each night with a failure to 127\.0\.0\.1:\d+, not signed$/],
  ['a secret', `whsec_${Buffer.alloc(32).toString('base64')}`, /^✔ notify: .*, signed$/],
  ['another word', 'whsec_t0ken', /^✖ notify: .*secret of notify\) must be whsec_ and 24 to 64 bytes/],
])('where nights are reported is said without a token, and nothing is sent: with %s', async (_, secret, said) => {
  const { url, received } = await aReceiver(200)
  const file = written(join(temporaryFolder(), 'secret'), secret ?? '')
  const notify = { url, only: 'failures', ...(secret !== undefined && { secret: { file } }) }
  const [apiKey, readerSecret] = [{ env: 'READER_KEY' }, { env: 'READER_SECRET' }]
  const serve = { readers: [{ name: 'bi', organizations: ['nowhere'], apiKey, secret: readerSecret }] }
  const { stdout, of } = await checked({ notify, serve, heartbeat: { url: 'https://hooks.example.com/t0ken?k=t0ken' } })

  expect(of('serve')).toMatch(/^✖ serve: .*serve\.readers/)
  expect(of('notify')).toMatch(said)
  expect(of('heartbeat')).toBe('✔ heartbeat: a request to hooks.example.com after each good night')
  expect(stdout).not.toContain('t0ken')
  expect(received).toEqual([])
})

const AWAY = ['redis://check:pw123@127.0.0.1:1/2?prefix=x', 'postgres://check:pw123@127.0.0.1:1/jobs']

test.each(AWAY)('a queue that is away ends with 5, and a password is warned of in the file only: %s', async (queue) => {
  const place = aWorkplace(await organizations(), { queue })
  const { code, stdout, of } = await check(place)
  const inEnvironment = await place.run('check', { env: { CUSTOMER_MIRROR_QUEUE: queue } })

  expect(code).toBe(5)
  expect(stdout).toMatch(/^✖ queue: The queue at (redis|postgres):.* cannot be used: .*REFUSED.*\n {4}fix: Repair/m)
  expect(stdout).toMatch(/^! queue: its password stands in the configuration file.*\n {4}fix: .*CUSTOMER_MIRROR_QUEUE/m)
  expect(inEnvironment.stdout).not.toContain('! queue')
  expect(stdout + inEnvironment.stdout).not.toContain('pw123')
  expect(of('acme')).toMatch(/^✔/)
})

test('copies that can be made are reported, and nothing is made; one that cannot is an error', async () => {
  const folder = join(temporaryFolder(), 'copies')
  const publish = { file: join(folder, 'readers-{organization}.db') }
  const place = aWorkplace(await organizations([3, 2]), { publish })
  await place.run('sync --dry-run')

  expect((await check(place)).of('publish')).toMatch(/^! .*readers-acme\.db and 1 other copy can be made, /)
  expect(existsSync(folder)).toBe(false)

  const file = join(dirname(folder), 'note')
  writeFileSync(file, 'not a copy')
  const { code, of } = await checked({ publish: { file } })
  expect(code).toBe(3)
  expect(of('publish')).toMatch(/^✖ publish: .*note: was not published by this program/)
})
