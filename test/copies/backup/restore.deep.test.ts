import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { restoreCommand } from '../../../src/cli/backup.ts'
import { lockPlace } from '../../../src/copies/written-file.ts'
import { night } from '../../store/nights.ts'
import {
  aBackedUpWorkplace,
  aBackup,
  aBackupFile,
  aWriter,
  backUp,
  COUNT,
  namesBeside,
  restore,
} from '../../support/backing-up.ts'
import { customers } from '../../support/builders.ts'
import { aMirror, aMirrorFile, valueOf } from '../../support/mirror-file.ts'
import { LAUNCHER, runCli } from '../../support/run-cli.ts'
import { runCommand } from '../../support/run-command.ts'

test('killed at any moment, the mirror is the one from before or the restored one, whole', async () => {
  const here = await aBackedUpWorkplace()
  for (let kill = 0; kill < 4; kill += 1) {
    const child = spawn(process.execPath, [LAUNCHER, 'restore', here.backup, '--config', here.config], {
      stdio: 'ignore',
    })
    const exited = once(child, 'exit')
    const folder = dirname(here.mirror)
    const isAt = () => readdirSync(folder).some((name) => (kill % 2 === 0 ? /\.unfinished$/ : /-replaced-/).test(name))
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

test('a restore never gets the WAL of the mirror before it: what a killed run left in it goes with the replaced file', async () => {
  const mirror = aMirrorFile()
  const backup = await aBackupOf(5)
  const writer = aWriter(mirror)
  await writer.saved(5)
  await writer.kill()
  const inWal = statSync(`${mirror}-wal`).size
  const { kept = '' } = await restore(backup, mirror)

  expect(inWal).toBeGreaterThan(0)
  expect(valueOf(mirror, COUNT)).toBe(5)
  expect(valueOf(mirror, 'PRAGMA integrity_check')).toBe('ok')
  expect(Number(valueOf(kept, COUNT))).toBeGreaterThan(100)
  expect(readdirSync(dirname(mirror)).filter((name) => /-(wal|shm|journal)$/.test(name))).toEqual([])
})

test('while another process writes it at the moment, the second one is refused', async () => {
  const { mirror, backup } = await aBackup()
  const first = lockPlace(mirror)
  const second = restore(backup, mirror)

  await expect(second).rejects.toMatchObject({
    code: 'busy',
    message: expect.stringMatching(/another process writes it at the moment/),
  })
  first.release()
  expect(namesBeside(mirror)).toEqual(['customers.db'])
})

test('a restore tells a reader of the feed who is ahead of the backup to start from a new copy', async () => {
  const { mirror, backup } = await aBackup()
  const read = Number(valueOf(mirror, 'SELECT max(seq) FROM changes'))
  await restore(backup, mirror)
  const since = (seq: number) =>
    runCli(['export', '--format', 'csv', '--mirror', mirror, '--changes-since', String(seq)], {
      cwd: dirname(mirror),
    })
  const start = Number(valueOf(mirror, `SELECT feed_seq FROM horizons WHERE organization = 'acme'`))

  expect(start).toBe(read + 1)
  expect(await since(read)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/undone by a restore\. Start again from a copy/),
  })
  expect(await since(start)).toMatchObject({ code: 0 })
})

async function aBackupOf(count: number): Promise<string> {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, count))
  const { file } = await backUp(mirror.file, { file: aBackupFile() })
  return file
}
