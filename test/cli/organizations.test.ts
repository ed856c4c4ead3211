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

test('every organization is listed with its state', async () => {
  const retired = JSON.parse((await run('retire', 'globex', '--json')).stdout)
  expect(retired).toEqual({ schemaVersion: 1, organization: 'globex', retired: true, removed: 6 })
  const { code, stdout, stderr } = await run('list')
  const { organizations } = JSON.parse((await run('list', '--json')).stdout)

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^initech +configured, not mirrored yet +0 +0 +never\nglobex +retired since /m)
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
  expect(await there('list')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^acme .* not mirrored yet /m) })
  expect(existsSync(fresh.mirror)).toBe(false)
})

test('--mirror lists a published copy without a configuration', async () => {
  const copy = `${temporaryFolder()}/customers.db`
  publishAll(aPlan(workplace.mirror, { file: copy }))
  const args = ['organizations', 'list', '--json', '--mirror', copy]
  const { code, stdout } = await runCli(args, { cwd: temporaryFolder() })

  expect(code).toBe(0)
  expect(JSON.parse(stdout).organizations).toMatchObject([
    { organization: 'acme', active: 5 },
    { organization: 'globex', active: 6 },
    { organization: 'globex.eu', active: 7 },
  ])
})

test('rename says what to run where rows were copied to, and what to configure; with --json in one document', async () => {
  const { code, stdout } = await run('rename', 'acme', 'acme-eu')
  const renamed = await run('rename', 'globex', 'initech', '--json')

  expect(code).toBe(0)
  expect(stdout).toContain(`  UPDATE customers SET organization = 'acme-eu' WHERE organization = 'acme';\n`)
  expect(stdout).toContain('change the id to acme-eu there')
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
  ['forget globex', 'This would delete 6 customers, 0 changes, 1 run, 0 rejects for good. If you mean it: '],
])('organizations %s is refused with 2, and nothing is changed', async (line, said) => {
  const rows = () => rowsOf(workplace.mirror, 'SELECT organization, updated_at, removed_at FROM customers')
  const before = rows()
  const { code, stdout, stderr } = await run(...line.split(' '))

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(said)
  expect(rows()).toEqual(before)
})

test('status says which organizations left the configuration and are active; a retired one raises no alert', async () => {
  const left = /\nglobex is not in the configuration,.*\n.* customer-mirror organizations retire globex --config .*\n/
  expect((await status()).stdout).toMatch(left)
  expect(await run('retire', 'globex')).toMatchObject({ code: 0 })
  expect((await status()).stdout).not.toMatch(left)
  configure({ organizations: ['acme', 'globex.eu'].map((id) => anAwayOrganization(id)) })
  expect(await status('--max-age', '36500d')).toMatchObject({ code: 0, stdout: expect.not.stringMatching(/^globex /m) })

  configure({ organizations: [anAwayOrganization('globex')] })
  expect((await status()).stdout).toMatch(/^globex .* retired/m)
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
  for (const said of [own, killed, 'backups', 'exports', `DELETE FROM customers WHERE organization = 'globex';`])
    expect(stdout).toContain(said)
  expect((await run('forget', 'globex', '--yes')).stderr).toContain('unknown organization "globex"')
  expect(JSON.parse((await run('forget', 'globex.eu', '--yes', '--json')).stdout)).toMatchObject({
    ...{ organization: 'globex.eu', finished: true, mirror: workplace.mirror, replaced: [] },
    deleted: { customers: 7, changes: 0, runs: 1, rejects: 0, forgotten: 0 },
  })
  expect(rowsOf(workplace.mirror, 'SELECT DISTINCT organization FROM customers')).toEqual([{ organization: 'acme' }])
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
  const listed = async () => JSON.parse((await run('list', '--json')).stdout).organizations
  expect(await listed()).toContainEqual(expect.objectContaining({ organization: 'globex', unfinishedForget: true }))
  expect(await run('forget', 'globex', '--yes')).toMatchObject({ code: 0, stderr: '' })
  expect(await listed()).toHaveLength(3)
})

test('a rename loads nothing anew, and makes copies stale; without it a run of the new id loads nothing', async () => {
  const [acme] = organizationsOf(await aSandbox({ customers: [120] }))
  workplace = aWorkplace([acme!], { defaults: { scan: 'chain' } })
  const sync = async (...args: string[]) =>
    onlyRun((await runCli(['sync', '--json', ...args], { cwd: workplace.folder })).stdout)
  const plan = aPlan(workplace.mirror, { file: join(temporaryFolder(), 'readers.db') })
  await sync('acme')
  publishAll(plan)

  configure({ organizations: [{ ...acme, id: 'acme-eu' }] })
  expect(await sync('acme-eu')).toMatchObject({ error: { code: 'tenant-mixup' }, inserted: 0 })
  expect(staleCopies(plan)).toEqual([])
  expect(await run('rename', 'acme', 'acme-eu')).toMatchObject({ code: 0 })
  expect(staleCopies(plan)).toEqual([plan.file])
  expect(await sync('acme-eu')).toMatchObject({ unchanged: 120, inserted: 0, updated: 0, proof: 'proven' })
  expect(valueOf(workplace.mirror, 'SELECT COUNT(*) FROM changes')).toBe(0)
})
