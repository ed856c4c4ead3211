import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { syncCommand } from '../src/cli/sync.ts'
import { aStandInForSqlite3 } from './support/documented-machine.ts'
import { json, list } from './support/fault-server.ts'
import { rowsOf, valueOf } from './support/mirror-file.ts'
import { runCommand } from './support/run-command.ts'
import { temporaryFolder } from './support/temp-folder.ts'
import { aFaultServer, aSandbox, aWorkplace, organizationAt, organizationsOf } from './support/workplace.ts'

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')

test('the documented backup is complete, and private whatever the umask is', async () => {
  const { config, mirror } = aWorkplace(organizationsOf(await aSandbox({ customers: [12] })))
  await runCommand(syncCommand, ['--config', config])
  const [, commands = ''] = /## Backups\n.*?```sh\n(backup=.*?)```/s.exec(read('docs/operate/backups.md')) ?? []
  const folder = temporaryFolder()
  const here = commands
    .replaceAll('/srv/customer-mirror/data/customers.db', mirror)
    .replaceAll('/backup/', `${folder}/`)
  const printed = execFileSync('/bin/sh', ['-c', `umask 022\n${here}\necho "$backup"`], {
    encoding: 'utf8',
    env: { PATH: `${process.env['PATH']}:${aStandInForSqlite3()}` },
  })
  const [check, backup = ''] = printed.trim().split('\n')

  expect(check).toBe('ok')
  expect(backup.startsWith(folder)).toBe(true)
  expect(statSync(backup).mode & 0o777).toBe(0o600)
  expect(valueOf(backup, 'SELECT count(*) FROM customers')).toBe(12)
})

test('times in the mirror are as the documents say, to the millisecond', async () => {
  const gone = list(30, { meta: { total: 30 } })
  const odd = json(200, { success: true, data: [{ id: 7 }], meta: { current_page: 1, per_page: 100, total: 1 } })
  const { config, mirror } = aWorkplace([
    organizationAt(await aFaultServer(gone)),
    organizationAt(await aFaultServer(odd), { id: 'globex' }),
  ])
  for (let night = 0; night < 2; night += 1) await runCommand(syncCommand, ['--config', config])
  const [, form = ''] = /Times are UTC as `([^`]+)`/.exec(read('docs/read/sql.md')) ?? []
  const pattern = new RegExp(`^${form.replaceAll(/[YMDHS]/g, String.raw`\d`).replaceAll('.', String.raw`\.`)}$`)
  const columns = [
    ['customers', 'first_seen_at'],
    ['customers', 'changed_at'],
    ['runs', 'started_at'],
    ['runs', 'finished_at'],
    ['runs', 'read_as_of'],
    ['rejects', 'seen_at'],
    ['freshness', 'read_as_of'],
  ] as const
  const odds = columns.flatMap(([table, column]) => {
    const values = rowsOf(mirror, `SELECT ${column} AS at FROM ${table} WHERE ${column} NOT NULL`)
    if (values.length === 0) return [`no ${table}.${column}`]
    return values.filter(({ at }) => !pattern.test(String(at))).map(({ at }) => `${table}.${column}: ${String(at)}`)
  })

  expect(odds).toEqual([])
})

test('every file, folder and npm script that CONTRIBUTING names is there', () => {
  const text = read('CONTRIBUTING.md')
  const paths = [...text.matchAll(/\b(?:src|jobs|test|docs)\/[\w./-]*\w\/?/g)].map(([path]) => path)
  const scripts: object = JSON.parse(read('package.json')).scripts
  const named = [...text.matchAll(/`?npm (?:run ([a-z:]+)|(test)\b)/g)].map(([, script, short = '']) => script ?? short)

  expect(paths.length).toBeGreaterThan(8)
  expect(paths.filter((path) => !existsSync(new URL(`../${path}`, import.meta.url)))).toEqual([])
  expect(named.filter((script) => !Object.hasOwn(scripts, script))).toEqual([])
})

test('package, lock file, changelog and README name the same version', () => {
  const { version }: { version: string } = JSON.parse(read('package.json'))
  const lock: { version: string; packages: { '': { version: string } } } = JSON.parse(read('package-lock.json'))

  expect([lock.version, lock.packages[''].version]).toEqual([version, version])
  expect(/^## (.*)$/m.exec(read('CHANGELOG.md'))?.[1]).toBe(version)
  const tarballs = [...read('README.md').matchAll(/customer-mirror-cli-(.*?)\.tgz/g)].map(([, named]) => named)
  expect(new Set(tarballs)).toEqual(new Set([version]))
})
