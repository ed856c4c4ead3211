import { execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { envelopeOf, json, refusal, type Reply } from '../support/fault-server.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { aFaultServer, aWorkplace, organizationAt } from '../support/workplace.ts'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const KEY = 'made-up key of a test, 32 characters and more'
const PHONE = '+1 555 0100 unmistakable'

/** Three customers with a phone number. */
const PEOPLE: Reply = (response, request) => {
  const { data, ...same } = envelopeOf(3, request)
  return json(200, { ...same, data: data.map((record) => ({ ...record, phone: PHONE, address: 'unmistakable' })) })(
    response,
    request,
  )
}

const privacy = { drop: ['address'], hash: ['phone'], key: { env: 'PRIVACY_KEY' } }

test('a policy in the configuration hides, check shows it, and a key that is not there stops the run before it reads', async () => {
  const server = await aFaultServer(PEOPLE)
  const { folder, mirror } = aWorkplace([organizationAt(server, { privacy })])
  const run = (args: string[], env: Record<string, string> = { PRIVACY_KEY: KEY }) => runCli(args, { cwd: folder, env })

  expect((await run(['check'])).stdout).toMatch(/✔ privacy of acme: drops address; hashes phone\n✔ acme: answered/)
  const synced = await run(['sync', '--json', '--log-level', 'debug'])
  expect(synced.code).toBe(0)
  expect(synced.stdout + synced.stderr).not.toMatch(/unmistakable|made-up key of a test/)
  const hash = `hmac:${createHmac('sha256', KEY).update(PHONE).digest('hex')}`
  expect(rowsOf(mirror, 'SELECT DISTINCT phone, address FROM customers')).toEqual([{ phone: hash, address: null }])
  expect((await run(['check'])).stdout).toMatch(/✔ privacy of acme: drops address; hashes phone\n✔ acme: answered/)
  expect((await run(['check'], { PRIVACY_KEY: `${KEY}, but another` })).stdout).toContain(
    '! privacy of acme: the key is not the one of the stored hashes: the next run replaces them',
  )

  const requests = server.requests.length
  for (const env of [{}, { PRIVACY_KEY: '' }, { PRIVACY_KEY: 'short' }]) {
    const failed = await run(['sync', '--json'], env)
    expect(failed.code).toBe(2)
    expect(failed.stdout + failed.stderr).toContain('the privacy key of organization acme')
  }
  expect((await run(['check'], {})).stdout).toMatch(/✖ privacy of acme: .* is not set: export it/)
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers WHERE phone = ?', hash)).toBe(3)
  expect(valueOf(mirror, `SELECT error_code FROM runs ORDER BY id DESC LIMIT 1`)).toBe('config')
  // Only `check` asked the service.
  expect(server.requests.length - requests).toBe(1)
  const bytes = ['', '-wal', '-shm'].map((end) =>
    existsSync(mirror + end) ? readFileSync(mirror + end, 'latin1') : '',
  )
  expect(bytes.filter((text) => text.includes('unmistakable') || text.includes(KEY))).toEqual([])
})

test('a look-up by a hashed value works as docs/PRIVACY.md shows it', async () => {
  const server = await aFaultServer(PEOPLE)
  const { folder } = aWorkplace([organizationAt(server, { privacy: { ...privacy, key: { file: 'privacy.key' } } })])
  writeFileSync(join(folder, 'privacy.key'), `${KEY}\n`, { mode: 0o600 })
  expect((await runCli(['sync'], { cwd: folder })).code).toBe(0)

  const docs = readFileSync(new URL('../../docs/PRIVACY.md', import.meta.url), 'utf8')
  const example = /```sh\n(phone=[\s\S]*?)```/.exec(docs)?.[1] ?? ''
  expect(example).toContain('openssl')
  const script = example
    .replace(/^phone=.*$/m, `phone='${PHONE}'`)
    .replaceAll('/srv/customer-mirror/privacy.key', join(folder, 'privacy.key'))
    .replace(/^customer-mirror /m, `'${process.execPath}' '${MAIN}' `)
  const found = execFileSync('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, encoding: 'utf8' })
  expect(found.match(/Customer \d/g)).toEqual(['Customer 1', 'Customer 2', 'Customer 3'])
})

test('what the service says about a refusal is not stored where values are hidden', async () => {
  const server = await aFaultServer(refusal(422, 'bad_customer', `The phone ${PHONE} cannot be shown.`))
  const { folder, mirror } = aWorkplace([organizationAt(server, { privacy })])
  const plain = await runCli(['sync'], { cwd: folder, env: { PRIVACY_KEY: KEY } })

  expect(plain.stdout + plain.stderr).not.toContain('unmistakable')
  expect(valueOf(mirror, 'SELECT error FROM runs')).toMatch(/answered 422\. /)
})

test('what the service said before the policy is taken out of the errors of earlier runs', async () => {
  const refusing = refusal(404, 'bad_customer', `The phone ${PHONE} cannot be shown.`)
  const server = await aFaultServer(refusing, PEOPLE)
  const organization = organizationAt(server)
  const { folder, mirror, config } = aWorkplace([organization])
  await runCli(['sync'], { cwd: folder })
  expect(valueOf(mirror, 'SELECT error FROM runs')).toContain(PHONE)
  const text = readFileSync(config, 'utf8')
  writeFileSync(config, text.replace('  - id: acme', '  - privacy: { drop: [phone, address] }\n    id: acme'))
  expect((await runCli(['sync'], { cwd: folder })).code).toBe(0)

  expect(valueOf(mirror, 'SELECT error FROM runs ORDER BY id LIMIT 1')).toMatch(/answered 404\. There is no/)
  expect(readFileSync(mirror, 'latin1')).not.toContain('unmistakable')
})
