import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { beforeEach, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { statusCommand } from '../../src/cli/status.ts'
import { type Mirror } from '../../src/store/mirror.ts'
import { customers, START_MS } from '../support/builders.ts'
import { onlyRun } from '../support/json-page.ts'
import { mirrorPages, rowsOf, valueOf, aPlayedFile } from '../support/mirror-file.ts'
import { aPlan, publishAll, staleCopies } from '../support/publishing.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { anAwayOrganization, aSandbox, aWorkplace, organizationsOf, type Workplace } from '../support/workplace.ts'

let workplace: Workplace

/** Acme and initech are configured, and initech was never mirrored; the mirror has globex and globex.eu besides. */
beforeEach(async () => {
  workplace = aWorkplace(['acme', 'initech'].map((id) => anAwayOrganization(id)))
  await aPlayedFile(mirrorThree, workplace.mirror)
})

async function mirrorThree(mirror: Mirror): Promise<void> {
  for (const [place, organization] of ['acme', 'globex', 'globex.eu'].entries())
    await mirrorPages(mirror, [customers(1, 5 + place)], { organization })
}

const run = (...args: string[]) => runCli(['organizations', ...args], { cwd: workplace.folder })
const status = (...args: string[]) => runCommand(statusCommand, [...args, '--config', workplace.config])

/** Writes these settings into the configuration. */
function configure(changed: object): void {
  const settings: object = parse(readFileSync(workplace.config, 'utf8'))
  writeFileSync(workplace.config, stringify({ ...settings, ...changed }))
}

test('every organization is listed with its state, as a table and as one document', async () => {
  const retired = JSON.parse((await run('retire', 'globex', '--json')).stdout)
  expect(retired).toEqual({ schemaVersion: 1, organization: 'globex', retired: true, removed: 6 })
  const { code, stdout, stderr } = await run('list')
  const { organizations } = JSON.parse((await run('list', '--json')).stdout)

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const [head, ...rows] = stdout.split('\n')
  expect(head).toMatch(/^organization +state +active +removed +last read$/)
  expect(rows[0]).toMatch(/^acme +configured +5 +0 +2026-01-05 02:00 UTC$/)
  expect(rows[1]).toMatch(/^initech +configured, not mirrored yet +0 +0 +never$/)
  expect(rows[2]).toMatch(/^globex +retired since 20\d\d-\d\d-\d\d +0 +6 +2026-01-05 02:00 UTC$/)
  expect(stdout).toContain('globex.eu is not in the configuration, and its 7 customers still count as active.')
  const read = new Date(START_MS).toISOString()
  const known = { configured: true, inMirror: true, retiredAt: null, unfinishedForget: false, removed: 0 }
  expect(organizations).toEqual([
    { organization: 'acme', ...known, active: 5, readAsOf: read },
    { organization: 'initech', ...known, inMirror: false, active: 0, readAsOf: null },
    {
      ...{ organization: 'globex', ...known, configured: false, active: 0, removed: 6, readAsOf: read },
      retiredAt: expect.stringMatching(/^20/),
    },
    { organization: 'globex.eu', ...known, configured: false, active: 7, readAsOf: read },
  ])
})

test('before the first sync there is no mirror to change, and none is made', async () => {
  const fresh = aWorkplace([anAwayOrganization('acme')])
  const there = (line: string) => runCli(['organizations', ...line.split(' ')], { cwd: fresh.folder })

  for (const line of ['list --mirror ./none.db', 'rename globex other', 'retire globex', 'forget globex --yes'])
    expect(await there(line)).toMatchObject({ code: 7, stderr: expect.stringContaining('there is no mirror yet') })
  expect((await there('list')).stdout).toMatch(/^acme +configured, not mirrored yet +0 +0 +never$/m)
  expect(existsSync(fresh.mirror)).toBe(false)
})

test('--mirror lists a published copy without a configuration', async () => {
  const copy = `${temporaryFolder()}/customers.db`
  await run('retire', 'globex')
  publishAll(aPlan(workplace.mirror, { file: copy }))
  const { code, stdout, stderr } = await runCli(['organizations', 'list', '--mirror', copy], { cwd: temporaryFolder() })

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^acme +in the mirror +5 +0 /m)
  expect(stdout).toMatch(/^globex +retired since 20\S+ +0 +6 /m)
  expect(stdout).not.toContain('initech')
})

test('rename says what to run where rows were copied to, and what to configure; with --json in one document', async () => {
  const { code, stdout } = await run('rename', 'acme', 'acme-eu')
  const renamed = await run('rename', 'globex', 'initech', '--json')

  expect(code).toBe(0)
  expect(stdout).toContain('acme: is now acme-eu, with 5 customers, 0 changes and 1 run.')
  expect(stdout).toContain(`  UPDATE customers SET organization = 'acme-eu' WHERE organization = 'acme';\n`)
  expect(stdout).toContain('If the configuration names acme, change the id to acme-eu there')
  expect(valueOf(workplace.mirror, `SELECT COUNT(*) FROM customers WHERE organization = 'acme-eu'`)).toBe(5)
  expect(JSON.parse(renamed.stdout)).toEqual({
    ...{ schemaVersion: 1, organization: 'initech', before: 'globex', customers: 6, changes: 0, runs: 1 },
    update: `UPDATE customers SET organization = 'initech' WHERE organization = 'globex';`,
  })
})

test.each([
  ['rename globx other', 'unknown organization "globx" (did you mean "globex"?)'],
  ['rename globex Globex_EU', '"Globex_EU" cannot be the id of an organization'],
  ['rename globex globex', 'globex: has this id already'],
  ['rename globex globex.eu', 'globex.eu: is in the mirror already'],
  ['rename initech other', 'It is enough to change that file.'],
  ['retire acme', 'acme: is still in the configuration'],
  ['forget acme --yes', 'acme: is still in the configuration'],
  [
    'forget globex',
    'This would delete 6 customers, 0 changes, 1 run and 0 rejects for good. If you mean it: customer-mi',
  ],
])('organizations %s is refused with 2, and nothing is changed', async (line, said) => {
  const rows = () => rowsOf(workplace.mirror, 'SELECT organization, updated_at, removed_at FROM customers')
  const before = rows()
  const { code, stdout, stderr } = await run(...line.split(' '))

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(said)
  expect(rows()).toEqual(before)
})

test('status says which organizations left the configuration and are active; a retired one raises no alert', async () => {
  const before = await status()
  expect(before.stdout).toMatch(
    /\nglobex is not in the configuration, and its 6 customers still count as active\.\n {2}if it left +customer-mirror organizations retire globex --config .*\n {2}if it has a new id +customer-mirror organizations rename globex NEW-ID --config .*\n/,
  )
  const { code, stdout } = await run('retire', 'globex')
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('globex: retired, 6 customers marked') })
  configure({ organizations: ['acme', 'globex.eu'].map((id) => anAwayOrganization(id)) })
  expect(await status('--max-age', '36500d')).toMatchObject({ code: 0, stdout: expect.not.stringMatching(/^globex /m) })

  configure({ organizations: [anAwayOrganization('globex')] })
  expect((await status()).stdout).toMatch(/^globex .* retired/m)
  expect((await run('list')).stdout).toMatch(/^globex +retired until its next run +0 +6 /m)
})

test('forget deletes it, and names the copies and whatever else it cannot reach', async () => {
  const copies = temporaryFolder()
  const copy = join(copies, 'customers-{organization}.db')
  configure({ publish: { file: copy } })
  publishAll(aPlan(workplace.mirror, { file: copy }))
  const [own, killed] = ['customers-globex.db', '.customers-globex.db.0123456789abcdef.unfinished']
  writeFileSync(join(copies, killed), '')
  const { code, stdout, stderr } = await run('forget', 'globex', '--yes')

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  for (const said of [
    'globex: forgotten. Deleted: 6 customers, 0 changes, 1 run and 0 rejects.',
    `No byte of ${workplace.mirror} holds any of its rows.`,
    ...[own, killed, 'backups', 'exports', 'a worker', `DELETE FROM customers WHERE organization = 'globex';`],
  ])
    expect(stdout).toContain(said)
  expect(rowsOf(workplace.mirror, 'SELECT organization, COUNT(*) AS n FROM customers GROUP BY 1')).toEqual([
    { organization: 'acme', n: 5 },
    { organization: 'globex.eu', n: 7 },
  ])
  expect((await run('forget', 'globex', '--yes')).stderr).toContain('unknown organization "globex"')
  expect(JSON.parse((await run('forget', 'globex.eu', '--yes', '--json')).stdout)).toMatchObject({
    ...{ organization: 'globex.eu', finished: true, mirror: workplace.mirror, replaced: [] },
    deleted: { customers: 7, changes: 0, runs: 1, rejects: 0, forgotten: 0 },
  })
})

test('forget ends with 5 while a reader is in the way, and the same command finishes it', async () => {
  const reader = new Database(workplace.mirror, { readonly: true })
  reader.exec('BEGIN')
  reader.prepare('SELECT COUNT(*) FROM customers').get()
  const first = await run('forget', 'globex', '--yes')
  reader.close()

  expect(first.code).toBe(5)
  expect(first.stderr).toMatch(
    /Not finished: the rows are deleted.*then run again:\n {2}customer-mirror organizations forget globex --yes\n/s,
  )
  expect((await run('list')).stdout).toMatch(/^globex +not wholly forgotten yet +0 +0 +never$/m)
  expect(await run('forget', 'globex', '--yes')).toMatchObject({ code: 0, stderr: '' })
  expect((await run('list')).stdout).not.toMatch(/^globex /m)
})

test('a rename loads nothing anew, whenever the configuration changes, makes copies stale, and can be taken back', async () => {
  const [acme] = organizationsOf(await aSandbox({ customers: [120] }))
  workplace = aWorkplace([acme!], { defaults: { scan: 'chain' } })
  const sync = async (...args: string[]) =>
    onlyRun((await runCli(['sync', '--json', ...args], { cwd: workplace.folder })).stdout)
  const name = (id: string) => configure({ organizations: [{ ...acme, id }] })
  const mixedUp = { error: { code: 'tenant-mixup' }, inserted: 0 }
  const plan = aPlan(workplace.mirror, { file: join(temporaryFolder(), 'readers.db') })
  await sync('acme')
  publishAll(plan)

  name('acme-eu')
  expect(await sync('acme-eu')).toMatchObject(mixedUp)
  expect(staleCopies(plan)).toEqual([])
  expect(await run('rename', 'acme', 'acme-eu')).toMatchObject({ code: 0 })
  expect(staleCopies(plan)).toEqual([plan.file])
  expect(await sync('acme-eu')).toMatchObject({ unchanged: 120, inserted: 0, updated: 0, proof: 'proven' })
  name('acme')
  expect(await sync('acme')).toMatchObject(mixedUp)
  expect(valueOf(workplace.mirror, 'SELECT COUNT(*) FROM changes')).toBe(0)
  expect(await run('rename', 'acme-eu', 'acme')).toMatchObject({ code: 0 })
  expect(await sync('acme')).toMatchObject({ unchanged: 120, inserted: 0, proof: 'proven' })
})
