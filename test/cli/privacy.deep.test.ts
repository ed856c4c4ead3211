import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { KEY, PEOPLE, PHONE, privacy } from '../support/commands.ts'
import { runCli } from '../support/run-cli.ts'
import { aFaultServer, aWorkplace, organizationAt } from '../support/workplace.ts'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

test('a look-up by a hashed value works as docs/explain/privacy.md shows it', async () => {
  const server = await aFaultServer(PEOPLE)
  const { folder } = aWorkplace([organizationAt(server, { privacy: { ...privacy, key: { file: 'privacy.key' } } })])
  writeFileSync(join(folder, 'privacy.key'), `${KEY}\n`, { mode: 0o600 })
  expect((await runCli(['sync'], { cwd: folder })).code).toBe(0)

  const docs = readFileSync(new URL('../../docs/explain/privacy.md', import.meta.url), 'utf8')
  const example = /```sh\n(phone=[\s\S]*?)```/.exec(docs)?.[1] ?? ''
  expect(example).toContain('openssl')
  const script = example
    .replace(/^phone=.*$/m, `phone='${PHONE}'`)
    .replaceAll('/srv/customer-mirror/privacy.key', join(folder, 'privacy.key'))
    .replace(/^customer-mirror /m, `'${process.execPath}' '${MAIN}' `)
  const found = execFileSync('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, encoding: 'utf8' })
  expect(found.match(/Customer \d/g)).toEqual(['Customer 1', 'Customer 2', 'Customer 3'])
})
