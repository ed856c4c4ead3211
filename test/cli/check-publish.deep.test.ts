import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { asPlainUser, startCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

const plainUser = asPlainUser()

test.runIf(plainUser !== undefined)('a folder that this user cannot write is an error', async () => {
  const shut = join(temporaryFolder(), 'shut')
  mkdirSync(shut, { mode: 0o755 })
  chmodSync(shut, 0o555)
  const sandbox = await aSandbox({ customers: [3] })
  const { folder, config } = aWorkplace(organizationsOf(sandbox), { publish: { file: join(shut, 'in', 'readers.db') } })
  for (const path of [join(shut, '..'), folder, join(folder, 'data')]) chmodSync(path, 0o777)
  chmodSync(config, 0o644)

  const { stdout } = await startCli(['check', '--config', config], { cwd: folder, ...plainUser }).ended

  expect(stdout).toContain(`✖ publish: ${shut}/in/readers.db: permission denied (access, EACCES). `)
})
