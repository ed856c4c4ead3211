import { createHmac } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { KEY, PEOPLE, PHONE, privacy } from '../support/commands.ts'
import { refusal } from '../support/fault-server.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { aFaultServer, aWorkplace, organizationAt } from '../support/workplace.ts'

test('a policy in the configuration hides, check shows it, and a key that is not there stops the run before it reads', async () => {
  const server = await aFaultServer(PEOPLE)
  const { folder, mirror } = aWorkplace([organizationAt(server, { privacy })])
  const run = (args: string[], env: Record<string, string> = { PRIVACY_KEY: KEY }) => runCli(args, { cwd: folder, env })

  expect((await run(['check'])).stdout).toMatch(/✔ privacy of acme: drops address; hashes phone\n✔ acme: answered/)
  const synced = await run(['sync', '--json'])
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

test('what the service says about a refusal is not stored where values are hidden, and taken out of earlier runs', async () => {
  const refusing = refusal(404, 'bad_customer', `The phone ${PHONE} cannot be shown.`)
  const server = await aFaultServer(refusing, refusing, PEOPLE)
  const { folder, mirror, config } = aWorkplace([organizationAt(server)])
  const errors = () => rowsOf(mirror, 'SELECT error FROM runs ORDER BY id').map(({ error }) => error)
  await runCli(['sync'], { cwd: folder })
  expect(errors()).toEqual([expect.stringContaining(PHONE)])
  const text = readFileSync(config, 'utf8')
  writeFileSync(config, text.replace('  - id: acme', '  - privacy: { drop: [phone, address] }\n    id: acme'))
  const { stdout, stderr } = await runCli(['sync'], { cwd: folder })

  expect(stdout + stderr).not.toContain('unmistakable')
  expect((await runCli(['sync'], { cwd: folder })).code).toBe(0)
  const shown = expect.stringMatching(/answered 404\. There is no/)
  expect(errors()).toEqual([shown, shown, null])
  expect(readFileSync(mirror, 'latin1')).not.toContain('unmistakable')
})
