import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { publishCommand } from '../../../src/cli/publish.ts'
import { restoreCommand } from '../../../src/cli/restore.ts'
import { valueOf } from '../../support/mirror-file.ts'
import { startCli } from '../../support/run-cli.ts'
import { runCommand } from '../../support/run-command.ts'
import { COUNT, namesBeside, aBackedUpWorkplace } from '../../support/backed-up.ts'
import { LAUNCHER } from '../../support/launcher.ts'

test('where no more can be written, the mirror is as it was, and nothing half written is left', async () => {
  const here = await aBackedUpWorkplace()
  const kilobytes = Math.floor(statSync(here.backup).size / 2048)
  const command = `ulimit -f ${kilobytes}; exec "$0" "$1" restore "$2" --config "$3"`
  const args = [process.execPath, LAUNCHER, here.backup, here.config]
  const ended = spawnSync('bash', ['-c', command, ...args], { encoding: 'utf8' })

  expect(ended).toMatchObject({
    status: 5,
    stdout: '',
    stderr: expect.stringMatching(/Nothing was restored; the mirror is/),
  })
  expect(namesBeside(here.mirror)).toEqual(['customers.db'])
  expect(valueOf(here.mirror, COUNT)).toBe(900)
})

test('killed at any moment, the mirror is the one from before or the restored one, whole', async () => {
  const here = await aBackedUpWorkplace()
  for (let kill = 0; kill < 4; kill += 1) {
    const child = spawn(process.execPath, [LAUNCHER, 'restore', here.backup, '--config', here.config], {
      stdio: 'ignore',
    })
    const exited = once(child, 'exit')
    const folder = dirname(here.mirror)
    const isAt = () => readdirSync(folder).some((name) => (kill % 2 === 0 ? /\.restore$/ : /-replaced-/).test(name))
    while (!isAt() && child.exitCode === null) await new Promise((resolve) => setImmediate(resolve))
    child.kill('SIGKILL')
    await exited
    expect(valueOf(here.mirror, 'PRAGMA integrity_check')).toBe('ok')
    expect(valueOf(here.mirror, COUNT)).toBe(900)
    for (const name of readdirSync(folder).filter((each) => each.includes('-replaced-'))) rmSync(join(folder, name))
  }
  const { code } = await runCommand(restoreCommand, [here.backup, '--config', here.config])
  expect(code).toBe(0)
})

test('the exit codes are those of the mistakes', async () => {
  const here = await aBackedUpWorkplace()
  const copy = join(here.folder, 'copies', 'customers.db')
  await runCommand(publishCommand, [copy, '--config', here.config])
  const ends = [copy, join(here.folder, 'none.db')].map((file) =>
    startCli(['restore', file, '--config', here.config], { cwd: here.folder }),
  )
  const [asCopy, asNone] = await Promise.all(ends.map(({ ended }) => ended))

  expect(asCopy).toMatchObject({ code: 7, stdout: '', stderr: expect.stringMatching(/is a copy for readers/) })
  expect(asNone).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/no such file/) })
})
