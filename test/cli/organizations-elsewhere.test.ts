import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { organizationsCommand } from '../../src/cli/organizations.ts'
import { publishCommand } from '../../src/cli/publish.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { configuredPlan } from '../../src/reading/publish/configured-plan.ts'
import { staleCopies } from '../../src/reading/publish/stale-copy.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

/** Three mirrored organizations, and how to run commands with another configuration than the one on the disk. */
async function aMirroredWorkplace(settings: object = {}) {
  const workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [120, 7, 3] })), {
    defaults: { scan: 'chain' },
    ...settings,
  })
  const { config, folder, mirror } = workplace
  const written = parse(readFileSync(config, 'utf8'))
  const older = join(folder, 'older.yaml')
  writeFileSync(older, readFileSync(config), { mode: 0o600 })
  await runCommand(syncCommand, ['--config', config])
  return {
    mirror,
    sync: (organization: string) => runCommand(syncCommand, [organization, '--json', '--config', config]),
    syncAsBefore: (organization: string) => runCommand(syncCommand, [organization, '--json', '--config', older]),
    publish: () => runCommand(publishCommand, ['--config', config]),
    change: (...args: string[]) => runCommand(organizationsCommand, [...args, '--config', config]),
    stale: async () =>
      staleCopies(configuredPlan(await readConfig({ file: config, cwd: folder })) ?? expect.fail('none')),
    /** Gives acme another id in the configuration, or takes it out. */
    configure: (id: string | undefined) => {
      const [acme, ...others] = written.organizations
      const organizations = id === undefined ? others : [{ ...acme, id }, ...others]
      writeFileSync(config, stringify({ ...written, organizations }))
    },
  }
}

const reportOf = ({ stdout }: { stdout: string }) => JSON.parse(stdout).runs[0]

test.each(['before', 'after'])(
  'the configuration may have the new id %s the rename; nothing is loaded anew',
  async (when) => {
    const { mirror, sync, syncAsBefore, change, configure } = await aMirroredWorkplace()
    if (when === 'before') {
      configure('acme-eu')
      expect(reportOf(await sync('acme-eu'))).toMatchObject({ error: { code: 'tenant-mixup' }, inserted: 0 })
    }

    expect(await change('rename', 'acme', 'acme-eu')).toMatchObject({ code: 0 })
    // A worker that has not read the configuration yet.
    expect(reportOf(await syncAsBefore('acme'))).toMatchObject({ error: { code: 'tenant-mixup' }, inserted: 0 })
    configure('acme-eu')

    expect(reportOf(await sync('acme-eu'))).toMatchObject({ unchanged: 120, inserted: 0, updated: 0, proof: 'proven' })
    expect(rowsOf(mirror, 'SELECT organization, COUNT(*) AS n FROM customers GROUP BY 1')).toEqual([
      { organization: 'acme-eu', n: 120 },
      { organization: 'globex', n: 7 },
      { organization: 'initech', n: 3 },
    ])
    expect(valueOf(mirror, 'SELECT COUNT(*) FROM changes')).toBe(0)
  },
)

test('a rename can be taken back, whatever a run of the old id left meanwhile', async () => {
  const { sync, syncAsBefore, change } = await aMirroredWorkplace()
  await change('rename', 'acme', 'acme-eu')
  await syncAsBefore('acme')

  expect(await change('rename', 'acme-eu', 'acme')).toMatchObject({ code: 0 })

  expect(reportOf(await sync('acme'))).toMatchObject({ unchanged: 120, inserted: 0, proof: 'proven' })
})

test('a worker that still had the old configuration ends the retirement, and the organization can be retired again', async () => {
  const { mirror, syncAsBefore, change, configure } = await aMirroredWorkplace()
  configure(undefined)
  await change('retire', 'acme')

  expect(reportOf(await syncAsBefore('acme'))).toMatchObject({ returned: 120, proof: 'proven' })
  expect((await change()).stdout).toContain(
    'acme is not in the configuration, and its 120 customers still count as active',
  )
  expect(await change('retire', 'acme')).toMatchObject({ code: 0 })

  expect(rowsOf(mirror, 'SELECT change, COUNT(*) AS n FROM changes GROUP BY 1')).toEqual([
    { change: 'removed', n: 240 },
    { change: 'returned', n: 120 },
  ])
})

test.each([
  ['renamed', ['rename', 'acme', 'acme-eu'], 'acme-eu'],
  ['forgotten', ['forget', 'acme', '--yes'], undefined],
])('a copy for readers that holds an organization that was %s is made anew', async (_, args, id) => {
  const file = join(temporaryFolder(), 'customers.db')
  const { publish, stale, change, configure } = await aMirroredWorkplace({ publish: { file } })
  await publish()
  configure(id)
  expect(await stale()).toEqual([])

  const { code } = await change(...args)

  expect(code).toBe(0)
  expect(await stale()).toEqual([file])
  await publish()
  expect(await stale()).toEqual([])
  expect(
    rowsOf(file, 'SELECT DISTINCT organization FROM customers ORDER BY 1').map((row) => row['organization']),
  ).toEqual([id, 'globex', 'initech'].filter((name) => name !== undefined))
})

test('a published copy says since when an organization is retired', async () => {
  const file = join(temporaryFolder(), 'customers.db')
  const { publish, change, configure } = await aMirroredWorkplace({ publish: { file } })
  configure(undefined)

  await change('retire', 'acme')
  await publish()

  const sql = 'SELECT organization, active, retired_at IS NOT NULL AS retired FROM freshness ORDER BY 1'
  expect(rowsOf(file, sql)).toEqual([
    { organization: 'acme', active: 0, retired: 1 },
    { organization: 'globex', active: 7, retired: 0 },
    { organization: 'initech', active: 3, retired: 0 },
  ])
})
