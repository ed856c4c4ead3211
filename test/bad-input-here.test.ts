import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { list } from './support/fault-server.ts'
import { valueOf } from './support/mirror-file.ts'
import { mirroringHere } from './support/mirroring-here.ts'
import { asPlainUser, runCli } from './support/run-cli.ts'
import { withoutPrivileges } from './support/unprivileged.ts'
import { aFaultServer, aWorkplace, organizationAt } from './support/workplace.ts'

const PLAIN_USER = asPlainUser()
const here = mirroringHere()

describe('a configuration that cannot be used', () => {
  test.each<[what: string, said: RegExp, spoil: (file: string) => void]>([
    ['is missing', /^other\.yaml does not exist: run 'customer-mirror init'/, () => undefined],
    ['is a folder', /^other\.yaml is a folder, not a file: name another with --config\n$/, (file) => mkdirSync(file)],
    ['is empty', /^other\.yaml is empty/, (file) => writeFileSync(file, '')],
    ['is no YAML', /^other\.yaml:1:\d+ /, (file) => writeFileSync(file, 'organizations: [')],
    ['is binary', /^other\.yaml is not UTF-8/, (file) => writeFileSync(file, Buffer.from([0x80, 0x81]))],
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
    ['a variable that is not set', { env: 'ACME_SECRET' }, /environment ACME_SECRET .* is not set: export it/],
    ['a variable that is empty', { env: 'EMPTY' }, /environment EMPTY .* is empty/],
    ['a file that is not there', { file: './none' }, /\/none .* does not exist: create it/],
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
