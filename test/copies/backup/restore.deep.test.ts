import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { backupCommand, restoreCommand } from '../../../src/cli/backup.ts'
import { syncCommand } from '../../../src/cli/sync.ts'
import { COUNT } from '../../support/backing-up.ts'
import { valueOf } from '../../support/mirror-file.ts'
import { LAUNCHER } from '../../support/run-cli.ts'
import { runCommand } from '../../support/run-command.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../../support/workplace.ts'

test('killed at any moment, the mirror is the one from before or the restored one, whole', async () => {
  const { config, folder: place, mirror } = aWorkplace(organizationsOf(await aSandbox({ customers: [900] })))
  const backup = join(place, 'backups', 'customers.db')
  await runCommand(syncCommand, ['--config', config])
  await runCommand(backupCommand, [backup, '--config', config])
  const args = [backup, '--config', config]
  for (let kill = 0; kill < 4; kill += 1) {
    const child = spawn(process.execPath, [LAUNCHER, 'restore', ...args], { stdio: 'ignore' })
    const exited = once(child, 'exit')
    const folder = dirname(mirror)
    const isAt = () => readdirSync(folder).some((name) => (kill % 2 === 0 ? /\.unfinished$/ : /-replaced-/).test(name))
    while (!isAt() && child.exitCode === null) await new Promise((resolve) => setImmediate(resolve))
    child.kill('SIGKILL')
    await exited
    expect(valueOf(mirror, 'PRAGMA integrity_check')).toBe('ok')
    expect(valueOf(mirror, COUNT)).toBe(900)
    for (const name of readdirSync(folder).filter((each) => each.includes('-replaced-'))) rmSync(join(folder, name))
  }
  expect(await runCommand(restoreCommand, args)).toMatchObject({ code: 0 })
})
