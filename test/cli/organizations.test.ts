import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { beforeEach, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { type Mirror } from '../../src/store/mirror.ts'
import { customerId, customers, START_MS } from '../support/builders.ts'
import { mirrorPages, rowsOf, aPlayedFile, temporaryFolder } from '../support/mirror-file.ts'
import { aPlan, publishAll } from '../support/publishing.ts'
import { failing } from '../support/run-cli.ts'
import { anAwayOrganization, aWorkplace, type Workplace } from '../support/workplace.ts'

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

const run = (line: string) => workplace.run(`organizations ${line}`)
const json = (line: string) => workplace.json(`organizations ${line}`)

function configure(changed: object): void {
  const settings: object = parse(readFileSync(workplace.config, 'utf8'))
  writeFileSync(workplace.config, stringify({ ...settings, ...changed }))
}

test('every organization is listed with its state, and those of a published copy without a configuration', async () => {
  const [copy] = publishAll(aPlan(workplace.mirror)).copies
  const retired = { schemaVersion: 1, organization: 'globex', retired: true, removed: 6 }
  expect(await json('retire globex')).toEqual(retired)
  const { code, stdout, stderr } = await run('list')

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^initech +configured, not mirrored yet +0 +0 +never\nglobex +retired since /m)
  const read = new Date(START_MS).toISOString()
  const known = { configured: true, inMirror: true, retiredAt: null, unfinishedForget: false, removed: 0 }
  expect((await json('list')).organizations).toEqual([
    { organization: 'acme', ...known, active: 5, readAsOf: read },
    { organization: 'initech', ...known, inMirror: false, active: 0, readAsOf: null },
    {
      ...{ organization: 'globex', ...known, configured: false, active: 0, removed: 6, readAsOf: read },
      retiredAt: expect.stringMatching(/^20/),
    },
    { organization: 'globex.eu', ...known, configured: false, active: 7, readAsOf: read },
  ])
  rmSync(workplace.config)
  const inCopy = { acme: 5, globex: 6, 'globex.eu': 7 }
  expect((await json(`list --mirror ${copy?.file}`)).organizations).toMatchObject(
    Object.entries(inCopy).map(([organization, active]) => ({ organization, active })),
  )
})

test('before the first sync there is no mirror to change, and none is made', async () => {
  workplace = aWorkplace([anAwayOrganization('acme')])

  for (const line of ['list --mirror ./none.db', 'rename globex other', 'retire globex', 'forget globex --yes'])
    expect(await run(line)).toMatchObject(failing(7, 'there is no mirror yet'))
  expect(await run('list')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^acme .* not mirrored yet /m) })
  expect(existsSync(workplace.mirror)).toBe(false)
})

test('rename says what to run where rows were copied to, and what to configure; with --json in one document', async () => {
  const { code, stdout } = await run('rename acme acme-eu')

  expect(code).toBe(0)
  expect(stdout).toContain(`  UPDATE customers SET organization = 'acme-eu' WHERE organization = 'acme';\n`)
  expect(stdout).toContain('change the id to acme-eu there')
  expect(await json('rename globex initech')).toEqual({
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

  expect(await run(line)).toMatchObject(failing(2, said))
  expect(rows()).toEqual(before)
})

test('status says which organizations left the configuration and are active; a retired one raises no alert', async () => {
  const left = /\nglobex is not in the configuration,.*\n.* customer-mirror organizations retire globex --config .*\n/
  const status = `status --config ${workplace.config}`
  expect((await workplace.run(status)).stdout).toMatch(left)
  expect(await run('retire globex')).toMatchObject({ code: 0 })
  expect((await workplace.run(status)).stdout).not.toMatch(left)
  configure({ organizations: ['acme', 'globex.eu'].map((id) => anAwayOrganization(id)) })
  const stdout = expect.not.stringMatching(/^globex /m)
  expect(await workplace.run('status --max-age 36500d')).toMatchObject({ code: 0, stdout })

  configure({ organizations: [anAwayOrganization('globex')] })
  expect((await workplace.run('status')).stdout).toMatch(/^globex .* retired/m)
})

test('forget deletes it, and names the copies and whatever else it cannot reach', async () => {
  const copies = temporaryFolder()
  const copy = join(copies, 'customers-{organization}.db')
  configure({ publish: { file: copy } })
  publishAll(aPlan(workplace.mirror, { file: copy }))
  const [own, killed] = ['customers-globex.db', '.customers-globex.db.0123456789abcdef.unfinished']
  writeFileSync(join(copies, killed), '')
  const { code, stdout, stderr } = await run('forget globex --yes')

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  for (const said of [own, killed, 'backups', 'exports', `DELETE FROM customers WHERE organization = 'globex';`])
    expect(stdout).toContain(said)
  expect(await run('forget globex --yes')).toMatchObject(failing(2, 'unknown organization "globex"'))
  expect(await json('forget globex.eu --yes')).toMatchObject({
    ...{ organization: 'globex.eu', finished: true, mirror: workplace.mirror, replaced: [] },
    deleted: { customers: 7, changes: 0, runs: 1, rejects: 0, forgotten: 0 },
  })
  expect(rowsOf(workplace.mirror, 'SELECT DISTINCT organization FROM customers')).toEqual([{ organization: 'acme' }])
})

const FORGETTING = [`forget globex.eu ${customerId(7)}`, 'organizations forget globex --yes']

test.each(FORGETTING)('%s ends with 5 while a reader is in the way, and then finishes', async (line) => {
  const again = `${line} --config ${workplace.config}`
  const reader = new Database(workplace.mirror, { readonly: true })
  reader.exec('BEGIN')
  reader.prepare('SELECT COUNT(*) FROM customers').get()
  const first = await workplace.run(again)
  reader.close()
  const { organizations } = await json('list')

  expect(first).toMatchObject({ code: 5, stdout: expect.not.stringContaining('No byte') })
  expect(first.stderr).toContain('Not finished: the rows are deleted')
  expect(first.stderr).toMatch(new RegExp(`then run again:\n  customer-mirror ${again}\n`))
  const globex = { organization: 'globex', unfinishedForget: line.endsWith('--yes') }
  expect(organizations).toContainEqual(expect.objectContaining(globex))
  const stdout = expect.stringContaining(`No byte of ${workplace.mirror} holds`)
  expect(await workplace.run(again)).toMatchObject({ code: 0, stderr: '', stdout })
  expect((await json('list')).organizations).toHaveLength(line.endsWith('--yes') ? 3 : 4)
})
