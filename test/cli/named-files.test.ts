import { chmodSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { namedFile } from '../../src/cli/opening.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { VERSION } from '../../src/store/schema/schema.ts'
import { customers } from '../support/builders.ts'
import { dump, mirrorPages, tamper } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aWorkplace, organizationAt, type Workplace } from '../support/workplace.ts'

let here: Workplace

beforeEach(async () => {
  here = aWorkplace([organizationAt({ baseUrl: new URL('http://127.0.0.1:1/api/v1') })])
  const mirror = await openMirror(here.mirror)
  await mirrorPages(mirror, [customers(1, 5)])
  await mirror.close()
})

const run = (line: string) => runCli(line.split(' '), { cwd: here.folder })

test.each([
  ['backups/customers.db', resolve('backups/customers.db')],
  ['/srv/a:b@c.db', '/srv/a:b@c.db'],
  ['./s3://analytics/customers.db', resolve('s3:/analytics/customers.db')],
  ['region=eu/customers.db', resolve('region=eu/customers.db')],
  ['folder/', `${resolve('folder')}/`],
])('a path is taken from the current folder: %s', (text, path) => {
  expect(namedFile(text, 'backup')).toBe(path)
})

test.each([
  'backup s3://analytics/customers.db',
  'restore https://ann:hunter2@example.com/customers.db',
  'publish gs://analytics/customers.db',
  'export --format csv -o s3://analytics/customers.csv',
  'move --to mysql://ann:hunter2@db.test/crm',
  'sql --mirror postgres:/ann:hunter2@db.test/crm SELECT',
])('no folder is made of an address, and no password in it is repeated: %s', async (line) => {
  const refused = await run(line)

  const stderr = expect.stringMatching(/an address|postgres:\/\/ address/)
  expect(refused).toMatchObject({ code: 2, stdout: '', stderr })
  expect(refused.stderr).not.toContain('hunter2')
  for (const made of ['s3:', 'gs:', 'https:', 'mysql:']) expect(existsSync(join(here.folder, made))).toBe(false)
})

test.each(['query', 'sql SELECT', 'export --format csv', 'organizations list'])(
  'without a configuration, %s names the option for a mirror or a copy too',
  async (line) => {
    expect(await runCli(line.split(' '), { cwd: temporaryFolder() })).toMatchObject({
      code: 2,
      stderr:
        "customer-mirror.yaml does not exist: run 'customer-mirror init' to write one, or name another with --config, " +
        'or a mirror or a copy of one with --mirror\n',
    })
  },
)

test.each(['backup shared/b.db', 'export --format csv -o shared/e.csv', 'publish shared/c.db'])(
  'in a folder that others may write nothing is written, with what to do: %s',
  async (line) => {
    const folder = join(here.folder, 'shared')
    mkdirSync(folder)
    chmodSync(folder, 0o775)
    const refused = await run(line)
    const left = readdirSync(folder)
    chmodSync(folder, 0o755)

    const stderr = expect.stringMatching(/shared: users besides its owner may write there, and could .*chmod go-w /)
    expect({ ...refused, left }).toMatchObject({ code: 2, left: [], stderr })
    expect(await run(line)).toMatchObject({ code: 0 })
    expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([])
  },
)

const COMMANDS = ['sync', 'sync --dry-run', 'status', 'runs', 'query', 'export --format csv', 'publish c/c.db']

test.each([VERSION - 1, VERSION + 1])(
  'each command refuses a mirror of version %d with 7, and says what to do',
  async (version) => {
    tamper(here.mirror, `PRAGMA user_version = ${version}`)
    const before = dump(here.mirror)
    const said =
      `customers.db: another version of Customer Mirror made this mirror (it is of version ${version}, this program makes and reads version ` +
      `${VERSION}), so it is left as it is. Use the version that made it, or name another mirror in the configuration and sync anew.`

    for (const line of [...COMMANDS, 'sql VALUES(1)', 'organizations list', 'backup b.db'])
      expect(await run(line), line).toMatchObject({ code: 7, stdout: '', stderr: expect.stringContaining(said) })
    expect(dump(here.mirror)).toEqual(before)
  },
)
