import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { KEY, PEOPLE, PHONE, privacy } from '../support/commands.ts'
import { rowsOf } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
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

test('a backup from before the policy is published by no command, until a run has hidden its values', async () => {
  const server = await aFaultServer(PEOPLE)
  const copy = join(temporaryFolder(), 'copies', 'readers.db')
  const { folder, config } = aWorkplace([organizationAt(server)], { publish: { file: copy } })
  const run = (...words: string[]) => runCli(words, { cwd: folder })
  await run('sync')
  await run('backup', 'backup/customers.db')
  writeFileSync(
    config,
    readFileSync(config, 'utf8').replace('  - id: acme', '  - privacy: { drop: [phone, address] }\n    id: acme'),
  )
  const before = readFileSync(copy)
  const early = await run('publish')

  expect(early).toMatchObject({ code: 5, stdout: '' })
  expect(early.stderr).toMatch(
    /still holds values that the privacy policy hides, of acme\. Nothing was published.*'customer-mirror sync'/,
  )
  expect(readFileSync(copy)).toEqual(before)

  expect((await run('sync')).code).toBe(0)
  expect((await run('restore', 'backup/customers.db')).code).toBe(0)
  expect((await run('publish')).code).toBe(5)
  expect(rowsOf(copy, 'SELECT DISTINCT phone, address FROM customers')).toEqual([{ phone: null, address: null }])

  expect((await run('sync')).code).toBe(0)
  expect((await run('publish')).code).toBe(0)
  expect(readFileSync(copy, 'latin1')).not.toContain('unmistakable')
})
