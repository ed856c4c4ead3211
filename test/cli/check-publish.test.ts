import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { checkCommand } from '../../src/cli/check.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { checkTargets } from '../../src/copies/target-place.ts'
import { aPlan } from '../support/publishing.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { withoutPrivileges } from '../support/unprivileged.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

async function checked(publish: object, { isMirrored = false } = {}) {
  const organizations = organizationsOf(await aSandbox({ customers: [3, 2] }))
  const workplace = aWorkplace(organizations, { publish })
  const withoutCopy = aWorkplace(organizations, { mirror: workplace.mirror })
  if (isMirrored) await runCommand(syncCommand, ['acme', '--config', withoutCopy.config])
  const { code, stdout } = await runCommand(checkCommand, ['--config', workplace.config])
  return { code, said: stdout.split('\n').filter((line) => /^. publish: |^ +fix: /.test(line)) }
}

test('a copy that can be made is reported, and nothing is made', async () => {
  const folder = join(temporaryFolder(), 'copies')

  expect(await checked({ file: join(folder, 'readers.db') })).toEqual({
    code: 0,
    said: [`✔ publish: ${folder}/readers.db can be made`],
  })
  expect(await checked({ file: join(folder, 'readers-{organization}.db') }, { isMirrored: true })).toMatchObject({
    said: [`✔ publish: ${folder}/readers-acme.db and 1 other copy can be made`],
  })
})

test('without a configured copy there is nothing to report', async () => {
  const workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [3] })))

  expect((await runCommand(checkCommand, ['--config', workplace.config])).stdout).not.toContain('publish')
})

test('a group that does not exist is an error with its fix, and so is one of an organization', async () => {
  const file = join(temporaryFolder(), '{organization}.db')

  for (const group of ['no-such-group', 'analysts-{organization}']) {
    const { code, said } = await checked({ file, group })
    expect(code).toBe(3)
    expect(said[0]).toMatch(/^✖ publish: publish\.group: there is no group (no-such-group|analysts-acme)/)
  }
})

test('a target that must not be replaced is an error, before a night finds out', async () => {
  const file = join(temporaryFolder(), 'readers.db')
  writeFileSync(file, 'not a copy')

  const { code, said } = await checked({ file }, { isMirrored: true })

  expect(code).toBe(3)
  expect(said[0]).toContain(`✖ publish: ${file}`)
  expect(existsSync(`${file}.sha256`)).toBe(false)
})

test('a copy in the folder in which the first sync will make the mirror is an error', async () => {
  const { mirror } = aWorkplace([])

  expect(() => checkTargets(aPlan(mirror, { file: join(dirname(mirror), 'readers.db') }))).toThrow(
    `${dirname(mirror)}: is the folder of the mirror, which is private.`,
  )
})

test('a mirror that may not be read is not taken for one that is not there yet: no copy of it can be made', async () => {
  const folder = temporaryFolder()
  chmodSync(folder, 0o755)
  mkdirSync(join(folder, 'closed'), { mode: 0o700 })
  const mirror = join(folder, 'closed', 'customers.db')

  const checking = withoutPrivileges(() => checkTargets(aPlan(mirror, { file: '/tmp/readers.db' })))

  await expect(checking).rejects.toMatchObject({
    code: 'denied',
    message: expect.stringContaining(`${mirror}: permission denied (stat, EACCES). Check the name, who owns it`),
  })
})
