import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { namedFile } from '../../src/cli/command.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aWorkplace } from '../support/workplace.ts'

const ORGANIZATION = { id: 'acme', baseUrl: 'http://127.0.0.1:1', apiKey: 'made-up', secret: 'made-up' }

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
  ['backup to an address', ['backup', 's3://analytics/customers.db']],
  ['restore from an address', ['restore', 'https://ann:hunter2@example.com/customers.db']],
  ['copy to an address', ['publish', 'gs://analytics/customers.db']],
  ['export to an address', ['export', '--format', 'csv', '-o', 's3://analytics/customers.csv']],
  ['partitions at an address', ['export', '--to', 's3://analytics/exports', '--partition', 'organization']],
  ['mirror at another address', ['move', '--to', 'mysql://ann:hunter2@db.test/crm']],
  ['mirror at an address of libpq', ['move', '--to', 'host=db.test user=ann password=hunter2']],
  ['mirror to read at another address', ['sql', '--mirror', 'postgres:/ann:hunter2@db.test/crm', 'SELECT 1']],
])('no folder is made of an address, and no password in it is repeated: %s', async (_, words) => {
  const { folder } = aWorkplace([ORGANIZATION])

  const refused = await runCli(words, { cwd: folder })

  expect(refused).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/an address|postgres:\/\/ address/),
  })
  expect(refused.stderr).not.toContain('hunter2')
  for (const made of ['s3:', 'gs:', 'https:', 'mysql:']) expect(existsSync(join(folder, made))).toBe(false)
})

test.each([
  ['query', ['query']],
  ['sql', ['sql', 'SELECT 1']],
  ['export', ['export', '--format', 'csv']],
  ['organizations list', ['organizations', 'list']],
])('without a configuration, %s names the option for a mirror or a copy too', async (_, words) => {
  const { code, stderr } = await runCli(words, { cwd: temporaryFolder() })

  expect(code).toBe(2)
  expect(stderr).toBe(
    "customer-mirror.yaml does not exist: run 'customer-mirror init' to write one, or name another with --config, " +
      'or a mirror or a copy of one with --mirror\n',
  )
})
