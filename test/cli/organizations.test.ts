import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { beforeEach, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { organizationsCommand } from '../../src/cli/organizations.ts'
import { statusCommand } from '../../src/cli/status.ts'
import { openMirror, openOrganizations } from '../../src/store/mirror.ts'
import { customers, START_MS } from '../support/builders.ts'
import { aMirrorFile, mirrorPages, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { aPlan, publishAll } from '../support/publishing.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { runOnScreen } from '../support/screen.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aWorkplace, type Workplace } from '../support/workplace.ts'

const document = z.strictObject({
  schemaVersion: z.literal(1),
  organizations: z.array(
    z.strictObject({
      organization: z.string(),
      configured: z.boolean().nullable(),
      inMirror: z.boolean(),
      retiredAt: z.iso.datetime().nullable(),
      unfinishedForget: z.boolean(),
      active: z.int(),
      removed: z.int(),
      readAsOf: z.iso.datetime().nullable(),
    }),
  ),
})

let workplace: Workplace

/** Acme and initech are configured, and initech was never mirrored; the mirror has globex and globex.eu besides. */
beforeEach(async () => {
  workplace = aWorkplace(['acme', 'initech'].map(configured))
  mkdirSync(dirname(workplace.mirror), { recursive: true, mode: 0o700 })
  writeFileSync(workplace.mirror, await (made ??= mirrorThree()), { mode: 0o600 })
})

let made: Promise<Buffer> | undefined

/** The bytes of that mirror, made once for all tests. */
async function mirrorThree(): Promise<Buffer> {
  const mirror = await openMirror(aMirrorFile())
  for (const [place, organization] of ['acme', 'globex', 'globex.eu'].entries())
    await mirrorPages(mirror, [customers(1, 5 + place)], { organization })
  await mirror.close()
  return readFileSync(mirror.file)
}

const configured = (id: string) => {
  return { id, baseUrl: 'http://127.0.0.1:1/api/v1', apiKey: `key-of-${id}`, secret: 'made-up' }
}

const run = (...args: string[]) => runCli(['organizations', ...args], { cwd: workplace.folder })

/** Writes these organizations into the configuration. */
function configure(...ids: string[]): void {
  const settings: object = parse(readFileSync(workplace.config, 'utf8'))
  writeFileSync(workplace.config, stringify({ ...settings, organizations: ids.map(configured) }))
}

test('every organization is listed with its state', async () => {
  const { code, stdout, stderr } = await run('list')

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const [head, ...rows] = stdout.split('\n')
  expect(head).toMatch(/^organization +state +active +removed +last read$/)
  expect(rows[0]).toMatch(/^acme +configured +5 +0 +2026-01-05 02:00 UTC$/)
  expect(rows[1]).toMatch(/^initech +configured, not mirrored yet +0 +0 +never$/)
  expect(rows[2]).toMatch(/^globex +not configured +6 +0 +2026-01-05 02:00 UTC$/)
  expect(stdout).toContain('globex.eu is not in the configuration, and its 7 customers still count as active.')
})

test('a name in a foreign file, or in an error, does not act on a terminal', async () => {
  for (const table of ['runs', 'customers'])
    tamper(workplace.mirror, `UPDATE ${table} SET organization = ? WHERE organization = 'globex'`, RED)

  const listed = await run('list', '--mirror', workplace.mirror)
  const refused = await run('forget', '\u001B[31mred\u009B2J')

  expect(listed).toMatchObject({ code: 0, stderr: '' })
  expect(listed.stdout).toContain(String.raw`\u001b[31mred\u202e\nline`)
  expect(refused).toMatchObject({ code: 2 })
  expect(refused.stderr).toContain(String.raw`\u001b[31mred\u009b2J`)
  // oxlint-disable-next-line no-control-regex -- that there are none
  expect(listed.stdout + refused.stderr).not.toMatch(/[\x00-\x09\x0B-\x1F\x7F-\x9F\u202e]/)
})

const RED = '\u001B[31mred\u202E\nline'

test('--json lists them as one document', async () => {
  await retireGlobex()

  const { organizations } = document.parse(JSON.parse((await run('list', '--json')).stdout))

  const read = new Date(START_MS).toISOString()
  const known = { configured: true, inMirror: true, retiredAt: null, unfinishedForget: false, removed: 0 }
  expect(organizations).toEqual([
    { organization: 'acme', ...known, active: 5, readAsOf: read },
    { organization: 'initech', ...known, inMirror: false, active: 0, readAsOf: null },
    { organization: 'globex', ...known, configured: false, active: 0, removed: 6, readAsOf: read, retiredAt: read },
    { organization: 'globex.eu', ...known, configured: false, active: 7, readAsOf: read },
  ])
})

async function retireGlobex(): Promise<void> {
  const organizations = await openOrganizations(workplace.mirror)
  await organizations.retire('globex', { nowMs: START_MS, monotonicMs: 1 })
  await organizations.close()
}

test('a table fits a terminal of 80 columns, and says since when one is retired', async () => {
  await retireGlobex()
  configure('acme', 'globex')

  const { text, lines } = await runOnScreen(organizationsCommand, ['list', '--config', workplace.config])

  expect(text).toMatch(/^globex +retired until its next run +0 +6 /m)
  expect(lines.slice(0, 5).every((line) => line.length <= 80)).toBe(true)
})

test('it works before the first sync, and makes no mirror', async () => {
  const fresh = aWorkplace(['acme'].map(configured))

  const { code, stdout } = await runCli(['organizations', 'list'], { cwd: fresh.folder })

  expect(code).toBe(0)
  expect(stdout).toMatch(/^acme +configured, not mirrored yet +0 +0 +never$/m)
  expect(existsSync(fresh.mirror)).toBe(false)
})

test.each(['a mirror', 'a published copy'])('--mirror lists %s without a configuration', async (kind) => {
  const copy = `${temporaryFolder()}/customers.db`
  await retireGlobex()
  publishAll(aPlan(workplace.mirror, { file: copy }))
  const file = kind === 'a mirror' ? workplace.mirror : copy

  const { code, stdout, stderr } = await runCli(['organizations', 'list', '--mirror', file], { cwd: temporaryFolder() })

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^acme +in the mirror +5 +0 /m)
  expect(stdout).toMatch(/^globex +retired since 2026-01-05 +0 +6 /m)
  expect(stdout).not.toContain('initech')
})

test('a mirror that is not there ends with 7', async () => {
  expect(await run('list', '--mirror', './none.db')).toMatchObject({
    code: 7,
    stdout: '',
    stderr: expect.stringContaining('there is no mirror yet'),
  })
})

test('rename says what to run where rows were copied to, and what to configure', async () => {
  const { code, stdout, stderr } = await run('rename', 'acme', 'acme-eu')

  expect(code).toBe(0)
  expect(stdout).toContain('acme: is now acme-eu, with 5 customers, 0 changes and 1 run.')
  expect(stdout).toContain(`  UPDATE customers SET organization = 'acme-eu' WHERE organization = 'acme';\n`)
  expect(stderr).toContain('Now change the id acme to acme-eu in the configuration')
  expect(valueOf(workplace.mirror, `SELECT COUNT(*) FROM customers WHERE organization = 'acme-eu'`)).toBe(5)
})

test.each([
  ['initech', 'acme', /still names acme: take it out there/],
  ['initech', 'globex', /^$/],
  ['nothing of the new id', 'globex.eu', /does not name initech: until it does, it is not mirrored/],
])('with %s in the configuration, the rename of %s says so', async (_, from, said) => {
  if (from === 'globex.eu') configure('acme')

  expect((await run('rename', from, 'initech')).stderr).toMatch(said)
})

test('rename --json', async () => {
  const { stdout } = await run('rename', 'globex', 'initech', '--json')

  expect(JSON.parse(stdout)).toEqual({
    schemaVersion: 1,
    organization: 'initech',
    before: 'globex',
    customers: 6,
    changes: 0,
    runs: 1,
    update: `UPDATE customers SET organization = 'initech' WHERE organization = 'globex';`,
  })
})

test.each([
  ['an unknown organization', ['rename', 'globx', 'other'], 'unknown organization "globx" (did you mean "globex"?)'],
  ['an id that is none', ['rename', 'globex', 'Globex EU'], '"Globex EU" cannot be the id of an organization'],
  ['the same id', ['rename', 'globex', 'globex'], 'globex: has this id already'],
  ['an id in use', ['rename', 'globex', 'globex.eu'], 'globex.eu: is in the mirror already'],
  ['one that is only configured', ['rename', 'initech', 'other'], 'Change its id in '],
  ['to retire an unknown organization', ['retire', 'glob'], 'unknown organization "glob"'],
  ['to retire one that is only configured', ['retire', 'initech'], 'There is nothing to retire'],
  ['to forget an unknown organization', ['forget', 'glob', '--yes'], 'unknown organization "glob"'],
  ['to forget one that is only configured', ['forget', 'initech', '--yes'], 'There is nothing to forget'],
  ['to forget one that is still configured', ['forget', 'acme', '--yes'], 'acme: is still in the configuration'],
  [
    'to forget without --yes',
    ['forget', 'globex'],
    'This would delete 6 customers, 0 changes, 1 run and 0 rejects for good',
  ],
  ['to retire one that is still configured', ['retire', 'acme'], 'acme: is still in the configuration'],
  ['a misspelt command that takes customers away', ['retrie', 'globex'], "unknown command 'retrie'"],
  [
    'to forget without --yes in the mirror of a named configuration',
    ['forget', 'globex', '--config', './customer-mirror.yaml'],
    'If you mean it: customer-mirror organizations forget globex --yes --config ./customer-mirror.yaml\n',
  ],
])('%s is refused with 2, and nothing is changed', async (_, args, said) => {
  const before = rowsOf(workplace.mirror, 'SELECT organization, updated_at, removed_at FROM customers')

  const { code, stdout, stderr } = await run(...args)

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(said)
  expect(rowsOf(workplace.mirror, 'SELECT organization, updated_at, removed_at FROM customers')).toEqual(before)
})

test.each([
  ['rename', 'acme', 'other'],
  ['retire', 'acme'],
  ['forget', 'acme', '--yes'],
])('%s ends with 7 where there is no mirror, and makes none', async (...args) => {
  const fresh = aWorkplace(['initech'].map(configured))

  const { code, stderr } = await runCli(['organizations', ...args], { cwd: fresh.folder })

  expect(code).toBe(7)
  expect(stderr).toContain('there is no mirror yet')
  expect(existsSync(fresh.mirror)).toBe(false)
})

test.each([
  ['rename', 'globex', 'other'],
  ['retire', 'globex'],
  ['forget', 'globex', '--yes'],
])('%s ends with 6 while a run has the organization', async (...args) => {
  const mirror = await openMirror(workplace.mirror)
  await mirror.startRun({ organization: 'globex', trigger: 'sync', nowMs: Date.now() })
  const { code, stderr } = await run(...args)
  await mirror.close()

  expect(code).toBe(6)
  expect(stderr).toContain('is mirroring it now')
})

test('a retired organization raises no alert, whether it is configured again or not', async () => {
  expect(await run('retire', 'globex')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('globex: retired, 6 customers marked as removed.'),
  })
  configure('acme', 'globex.eu')
  expect(await runCommand(statusCommand, ['--max-age', '36500d', '--config', workplace.config])).toMatchObject({
    code: 0,
  })

  configure('globex')
  const { stdout } = await runCommand(statusCommand, ['--config', workplace.config])
  expect(stdout).toMatch(/^globex .* retired/m)
})

test('status says which organizations left the configuration and are still active', async () => {
  const { code, stdout } = await runCommand(statusCommand, ['--config', workplace.config])

  expect(code).toBe(0)
  expect(stdout).toContain('\nglobex is not in the configuration, and its 6 customers still count as active.')
  // Under a new id its runs end as `tenant-mixup`, and to retire it would remove its customers.
  expect(stdout).toMatch(/if it left +customer-mirror organizations retire globex --config .*\n/)
  expect(stdout).toMatch(/if it has a new id +customer-mirror organizations rename globex NEW-ID --config .*\n/)
  await run('retire', 'globex')
  const after = await runCommand(statusCommand, ['--config', workplace.config])
  expect(after.stdout).not.toMatch(/^globex /m)
})

test('retire --json', async () => {
  const { stdout } = await run('retire', 'globex', '--json')

  expect(JSON.parse(stdout)).toEqual({ schemaVersion: 1, organization: 'globex', retired: true, removed: 6 })
})

test('forget deletes it, and names the copies and whatever else it cannot reach', async () => {
  const copy = join(temporaryFolder(), 'customers-{organization}.db')
  const settings: object = parse(readFileSync(workplace.config, 'utf8'))
  writeFileSync(workplace.config, stringify({ ...settings, publish: { file: copy } }))
  publishAll(aPlan(workplace.mirror, { file: copy }))
  const killed = join(dirname(copy), '.customers-globex.db.0123456789abcdef.unfinished')
  writeFileSync(killed, '')

  const { code, stdout, stderr } = await run('forget', 'globex', '--yes')

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('globex: forgotten. Deleted: 6 customers, 0 changes, 1 run and 0 rejects.')
  expect(stdout).toContain(`No byte of ${workplace.mirror} holds any of its rows.`)
  const own = join(dirname(copy), 'customers-globex.db')
  for (const place of [
    own,
    killed,
    'backups',
    'exports',
    'a worker',
    `DELETE FROM customers WHERE organization = 'globex';`,
  ])
    expect(stdout).toContain(place)
  expect(rowsOf(workplace.mirror, 'SELECT organization, COUNT(*) AS n FROM customers GROUP BY 1')).toEqual([
    { organization: 'acme', n: 5 },
    { organization: 'globex.eu', n: 7 },
  ])
  expect((await run('forget', 'globex', '--yes')).stderr).toContain('unknown organization "globex"')
})

test('forget deletes nothing where it cannot find out which copies hold it', async () => {
  const noFolder = join(temporaryFolder(), 'copies')
  writeFileSync(noFolder, '')
  const settings: object = parse(readFileSync(workplace.config, 'utf8'))
  const publish = { file: join(noFolder, 'customers.db') }
  writeFileSync(workplace.config, stringify({ ...settings, publish }))
  const { code, stderr } = await run('forget', 'globex', '--yes')

  expect({ code, stderr }).toEqual({
    code: 7,
    stderr: expect.stringContaining(`${noFolder}: not a directory (scandir, ENOTDIR). Check the name`),
  })
  expect(valueOf(workplace.mirror, `SELECT COUNT(*) FROM customers WHERE organization = 'globex'`)).toBe(6)
})

test('forget --json', async () => {
  const { stdout } = await run('forget', 'globex', '--yes', '--json')

  expect(JSON.parse(stdout)).toEqual({
    schemaVersion: 1,
    organization: 'globex',
    deleted: { customers: 6, changes: 0, runs: 1, rejects: 0, forgotten: 0 },
    finished: true,
    mirror: workplace.mirror,
    copies: [],
    replaced: [],
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
    /Not finished: the rows are deleted.*a program.*too little free space, or a disk that failed kept it/is,
  )
  expect(first.stderr).toContain('  customer-mirror organizations forget globex --yes')
  expect((await run('list')).stdout).toMatch(/^globex +not wholly forgotten yet +0 +0 +never$/m)
  expect(await run('forget', 'globex', '--yes')).toMatchObject({ code: 0, stderr: '' })
  expect((await run('list')).stdout).not.toMatch(/^globex /m)
})
