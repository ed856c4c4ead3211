import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { syncCommand } from '../../src/cli/sync.ts'
import { check } from '../support/commands.ts'
import { html, list, redirect, refusal, type Reply } from '../support/fault-server.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { aFaultServer, aSandbox, aWorkplace, organizationAt, organizationsOf } from '../support/workplace.ts'

test('reports everything a sync needs, asks each organization once, and ends with 0 when all is well', async () => {
  const workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [1200, 7] })))
  const { code, stdout, stderr } = await runCli(['check'], { cwd: workplace.folder })

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^✔ Node: \d+\.\d+\.\d+$/m)
  expect(stdout).toContain(`✔ configuration: ${workplace.config}, 2 organizations\n`)
  expect(stdout).toContain(`✔ mirror: ${workplace.mirror} will be created by the first sync\n`)
  expect(stdout).toMatch(/^✔ acme: answered, 1,200 customers, clocks agree$/m)
  expect(stdout).toMatch(/^✔ globex: answered, 7 customers, clocks agree$/m)
})

test('an empty file becomes the mirror with the first sync, and not with a check', async () => {
  const workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [7] })))
  writeFileSync(workplace.mirror, '')

  const { code, stdout } = await check(workplace)

  expect({ code, size: statSync(workplace.mirror).size }).toEqual({ code: 0, size: 0 })
  expect(stdout).toContain(`✔ mirror: ${workplace.mirror} will be created by the first sync\n`)
})

test('asks a server of the mirror that does not answer once, however many organizations there are', async () => {
  let asked = 0
  const server = createServer((socket) => {
    asked += 1
    socket.on('error', () => {}).destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const at = server.address()
  const mirror = `postgres://ann@127.0.0.1:${typeof at === 'object' ? at?.port : ''}/crm`
  const workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [7, 7, 7] })), { mirror })

  const { code, stdout } = await check(workplace)

  expect({ code, asked }).toEqual({ code: 5, asked: 1 })
  expect(stdout).toMatch(/✖ mirror: .*\n[^]*✔ initech: answered/)
})

test('asks only the organizations that are named', async () => {
  const server = await aFaultServer(list(1))
  const workplace = aWorkplace([organizationAt(server), organizationAt(server, { id: 'globex', apiKey: 'other' })])
  const { stdout } = await check(workplace, 'globex')

  expect(stdout).toContain('✔ globex: ')
  expect(stdout).not.toContain('acme')
  expect(server.requests).toHaveLength(1)
})

test('all that an organization lacks stands below its name', async () => {
  const secrets = { apiKey: { env: 'NO_SUCH_KEY' }, secret: { env: 'NO_SUCH_SECRET' } }
  const { stdout } = await check(aWorkplace([organizationAt(await aFaultServer(list(1)), secrets)]))

  expect(stdout).toMatch(/^✖ acme: .* NO_SUCH_KEY .*\n {4}environment NO_SUCH_SECRET .*\n {4}fix: /m)
})

test('an unknown organization ends with 2, with a suggestion', async () => {
  const { code, stderr } = await check(aWorkplace(organizationsOf(await aSandbox({ customers: [1] }))), 'acmee')

  expect(code).toBe(2)
  expect(stderr).toContain('unknown organization "acmee" (did you mean "acme"?)')
})

test.each<[title: string, fix: RegExp, code: number, reply: Reply]>([
  [
    'bad key, wrong secret or wrong recipe',
    /Check apiKey, secret and the clock.*signing explain acme.*signing solve/,
    4,
    refusal(401, 'invalid_signature', 'The signature does not match.'),
  ],
  ['plan forbids', /its plan has to include listing customers/, 4, refusal(403, 'forbidden', 'Upgrade.')],
  ['plan forbids', /Check that apiKey/, 4, html(403)],
  ['not found', /Check baseUrl/, 4, refusal(404, 'not_found', 'Nothing here.')],
  ['throttled', /rateLimit\.requestsPerMinute/, 5, refusal(429, 'rate_limited', 'Slow down.', { 'Retry-After': '60' })],
  ['service failing', /has to recover/, 5, html(500)],
  [
    'not the documented answer',
    /Check that baseUrl is the final address/,
    3,
    redirect(302, 'http://127.0.0.1:9/login'),
  ],
  ['not the documented answer', /Check that baseUrl is the final address/, 3, html(200)],
])('an answer that means "%s" is explained with its fix, after one request', async (title, fix, code, reply) => {
  const server = await aFaultServer(reply)
  const done = await check(aWorkplace([organizationAt(server)]))

  expect(done.code).toBe(code)
  expect(lineOf(done, 'acme')).toMatch(new RegExp(`^✖ acme: ${title}\\. .*GET ${server.origin}/api/v1/customers`))
  expect(fixOf(done, 'acme')).toMatch(fix)
  expect(fixOf(done, 'acme')).not.toContain('<organization>')
  expect(server.requests).toHaveLength(1)
})

test('a request that is refused in the smaller size too is explained', async () => {
  const server = await aFaultServer(refusal(422, 'validation_error', 'No.'))
  const done = await check(aWorkplace([organizationAt(server)]))

  expect(done.code).toBe(4)
  expect(lineOf(done, 'acme')).toMatch(/^✖ acme: request not accepted\. .* \(page 1, per_page 50\) answered 422/)
  expect(fixOf(done, 'acme')).toMatch(/Lower pageSize/)
})

test('an unreachable service is explained', async () => {
  const server = await aFaultServer(list(1))
  await server.close()
  const done = await check(aWorkplace([organizationAt(server)]))

  expect(done.code).toBe(5)
  expect(lineOf(done, 'acme')).toContain('✖ acme: unreachable.')
  expect(fixOf(done, 'acme')).toContain('Check baseUrl, the network, and any firewall; HTTPS_PROXY is not used.')
})

test('https to a plain http port is explained, without blaming the certificate', async () => {
  const server = await aFaultServer(list(1))
  const baseUrl = server.baseUrl.href.replace('http:', 'https:')
  const done = await check(aWorkplace([{ ...organizationAt(server), baseUrl }]))

  expect(done.code).toBe(5)
  expect(lineOf(done, 'acme')).toContain('✖ acme: no trusted connection.')
  expect(fixOf(done, 'acme')).toContain('check the port in baseUrl')
  expect(done.stdout).not.toMatch(/certificate/)
})

test.each([
  ['ahead of', 3_600_000],
  ['behind', -3_600_000],
])('a clock an hour %s ours is a warning, as a sync signs with it', async (side, offsetMs) => {
  const sandbox = await aSandbox({ customers: [1], now: () => Date.now() + offsetMs })
  const done = await check(aWorkplace(organizationsOf(sandbox)))

  expect(done.code).toBe(0)
  expect(lineOf(done, 'acme')).toMatch(
    new RegExp(`^! acme: answered, 1 customer, its clock is .* ${side} ours, and requests are signed with its time$`),
  )
  expect(fixOf(done, 'acme')).toContain('Set the clock of this machine')
})

test('a wrong key is named although the clock is wrong too', async () => {
  const sandbox = await aSandbox({ customers: [1], now: () => Date.now() + 3_600_000 })
  const done = await check(aWorkplace(organizationsOf(sandbox).map((one) => ({ ...one, apiKey: 'another' }))))

  expect(done.code).toBe(4)
  expect(lineOf(done, 'acme')).toMatch(/^✖ acme: bad key.* corrected time was refused too/)
  expect(fixOf(done, 'acme')).toContain('Check apiKey')
})

test('a page size that is refused is tried once more in the size that a sync takes then', async () => {
  const server = await aFaultServer(refusal(422, 'validation_error', 'No.'), list(120))
  const done = await check(aWorkplace([organizationAt(server)]))

  expect(done.code).toBe(0)
  expect(lineOf(done, 'acme')).toMatch(/^✔ acme: answered, 120 customers; it refuses pages of 100 and serves 50, /)
  expect(server.requests.map(({ size }) => size)).toEqual([100, 50])
})

test("a clock within the service's tolerance is reported, without a failure", async () => {
  const sandbox = await aSandbox({ customers: [1], now: () => Date.now() + 120_000 })
  const done = await check(aWorkplace(organizationsOf(sandbox)))

  expect(done.code).toBe(0)
  expect(lineOf(done, 'acme')).toMatch(/its clock is (2 min|2 min 1 s|1 min 59 s) ahead of ours$/)
})

test('a first page without customers, whose total promises some, is a warning', async () => {
  const server = await aFaultServer(list(2450, { envelope: { data: [] } }))
  const done = await check(aWorkplace([organizationAt(server)]))

  expect(done.code).toBe(0)
  expect(lineOf(done, 'acme')).toBe(
    '! acme: answered, 2,450 customers by its total, and none on the first page, clock unknown',
  )
  expect(fixOf(done, 'acme')).toContain('Ask the owner of the service why its list is empty')
})

test('a list without customers is no warning', async () => {
  const done = await check(aWorkplace([organizationAt(await aFaultServer(list(0)))]))

  expect(done.code).toBe(0)
  expect(lineOf(done, 'acme')).toMatch(/^✔ acme: answered, 0 customers/)
})

test('a service that caps its pages is reported', async () => {
  const server = await aFaultServer(list(30, { meta: { per_page: 10, current_page: 1 }, envelope: { data: [] } }))
  const done = await check(aWorkplace([organizationAt(server)]))

  expect(lineOf(done, 'acme')).toContain('the service caps pages at 10')
})

test('all missing secrets are named, and the other organizations are still checked', async () => {
  const server = await aFaultServer(list(1))
  const { folder } = aWorkplace([
    organizationAt(server, { apiKey: { env: 'ACME_API_KEY' }, secret: { file: './no-such-file' } }),
    organizationAt(server, { id: 'globex' }),
  ])
  const { code, stdout } = await runCli(['check'], { cwd: folder })

  expect(code).toBe(3)
  expect(stdout).toMatch(/^✖ acme: not configured\. .*ACME_API_KEY/m)
  expect(stdout).toContain(join(folder, 'no-such-file'))
  expect(stdout).toContain('    fix: Set the variable or write the file named above.\n')
  expect(stdout).toMatch(/^✔ globex: answered/m)
  const alone = await runCli(['check', 'acme'], { cwd: folder })
  expect(alone.code).toBe(2)
})

test('a secret file that every user may read is a warning with the command that fixes it, not a failure', async () => {
  const [organization] = organizationsOf(await aSandbox({ customers: [1] }))
  if (organization === undefined) throw new Error('one organization was asked for')
  const { folder } = aWorkplace([{ ...organization, apiKey: { file: './key' }, secret: { file: "./acme's secret" } }])
  const [key, secret] = [join(folder, 'key'), join(folder, "acme's secret")]
  writeFileSync(key, String(organization.apiKey))
  writeFileSync(secret, String(organization.secret))
  chmodSync(key, 0o640)
  chmodSync(secret, 0o644)
  const before = await runCli(['check'], { cwd: folder })

  expect(before).toMatchObject({ code: 0, stderr: '' })
  expect(lineOf(before, 'secret of acme')).toBe(
    `! secret of acme: every user of this machine has access to ${secret} (its mode is 644)`,
  )
  expect(before.stdout).not.toContain('API key of acme')
  expect(lineOf(before, 'acme')).toMatch(/^✔/)
  const command = fixOf(before, 'secret of acme').replace('    fix: ', '')
  execFileSync('/bin/sh', ['-c', command])
  const after = await runCli(['check'], { cwd: folder })

  expect(after).toMatchObject({ code: 0, stderr: '' })
  expect(after.stdout).not.toContain('secret of acme')
})

test('an existing mirror is read to its end, and reported as sound', async () => {
  const workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [20] })))
  await runCommand(syncCommand, ['--config', workplace.config])
  const done = await check(workplace)

  expect(done.code).toBe(0)
  expect(lineOf(done, 'mirror')).toBe(`✔ mirror: ${workplace.mirror}, sound and writable`)
})

test.each<[state: string, said: RegExp, spoil: (file: string) => void]>([
  ['a folder', /is a folder/, (file) => mkdirSync(file)],
  [
    'no SQLite file',
    /file is not a database \(SQLITE_NOTADB\)/,
    (file) => writeFileSync(file, 'Customers: none so far.\n'.repeat(99)),
  ],
  ['the database of another program', /not a mirror of ours/, (file) => sqlite(file, 'CREATE TABLE shop (id)')],
  [
    'of another version',
    /another version of Customer Mirror/,
    (file) => sqlite(file, 'PRAGMA application_id = 1129138514', 'PRAGMA user_version = 99'),
  ],
])('a mirror that is %s is reported with its fix, and the organizations are still checked', async (_, said, spoil) => {
  const workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [1] })))
  spoil(workplace.mirror)
  const done = await check(workplace)

  expect(done.code).toBe(7)
  expect(lineOf(done, 'mirror')).toMatch(/^✖ mirror: /)
  expect(lineOf(done, 'mirror')).toContain(workplace.mirror)
  expect(lineOf(done, 'mirror')).toMatch(said)
  expect(fixOf(done, 'mirror')).toContain('name another mirror')
  expect(lineOf(done, 'acme')).toMatch(/^✔/)
})

test('a mirror in a place where nothing can be made is reported, also to a user who may do anything', async () => {
  const organizations = organizationsOf(await aSandbox({ customers: [1] }))
  const workplace = aWorkplace(organizations, { mirror: '/proc/none/customers.db' })
  const done = await check(workplace)

  expect(done.code).not.toBe(0)
  expect(lineOf(done, 'mirror')).toMatch(/^✖ mirror: \/proc\/none\/customers\.db: .* \(mkdtemp, \w+\)\. Check the name/)
})

test('a mirror that cannot be used and an organization that is refused end with 3', async () => {
  const server = await aFaultServer(refusal(403, 'forbidden', 'Upgrade.'))
  const workplace = aWorkplace([organizationAt(server)])
  mkdirSync(workplace.mirror)

  expect((await check(workplace)).code).toBe(3)
})

function lineOf({ stdout }: { stdout: string }, what: string): string {
  return stdout.split('\n').find((line) => line.slice(2).startsWith(`${what}: `)) ?? `nothing about ${what}: ${stdout}`
}

function fixOf({ stdout }: { stdout: string }, what: string): string {
  const lines = stdout.split('\n')
  const at = lines.findIndex((line) => line.slice(2).startsWith(`${what}: `))
  return lines[at + 1] ?? ''
}

function sqlite(file: string, ...statements: string[]): void {
  const db = new Database(file)
  for (const sql of statements) db.exec(sql)
  db.close()
}
