import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { backupCommand } from '../../../src/cli/backup.ts'
import { publishCommand } from '../../../src/cli/export.ts'
import { aWriter, backUp } from '../../support/backing-up.ts'
import { aMirroredWorkplace } from '../../support/commands.ts'
import { aMirrorFile, valueOf } from '../../support/mirror-file.ts'
import { LAUNCHER } from '../../support/run-cli.ts'
import { runCommand } from '../../support/run-command.ts'

describe('a backup', () => {
  test('is one state of the mirror, however much another process writes meanwhile', async () => {
    const mirror = aMirrorFile()
    const writer = aWriter(mirror)
    await writer.saved(10)
    for (let backup = 0; backup < 3; backup += 1) {
      const { file } = await backUp(mirror)
      expect(valueOf(file, 'PRAGMA integrity_check')).toBe('ok')
      const unequal = `SELECT count(*) FROM runs
        WHERE received <> inserted + updated + unchanged + duplicates + rejected`
      expect(valueOf(file, unequal)).toBe(0)
      await writer.saved(5)
    }
  })
})

describe('the command', () => {
  test('killed at any moment, the backup from before or the new one is there, and the next one clears away', async () => {
    const here = await aMirroredWorkplace([900])
    const file = join(here.folder, 'backups', 'customers.db')
    await runCommand(backupCommand, [file, '--config', here.config])
    for (const ending of ['', '-journal', '-wal'])
      writeFileSync(join(dirname(file), `.customers.db.0123456789abcdef.unfinished${ending}`), 'half')
    for (let kill = 0; kill < 3; kill += 1) {
      const child = spawn(process.execPath, [LAUNCHER, 'backup', file, '--config', here.config], { stdio: 'ignore' })
      const exited = once(child, 'exit')
      const isWriting = () => readdirSync(dirname(file)).some((name) => name.endsWith('.unfinished'))
      while (!isWriting() && child.exitCode === null) await new Promise((resolve) => setImmediate(resolve))
      child.kill('SIGKILL')
      await exited
      expect(valueOf(file, 'SELECT count(*) FROM customers')).toBe(900)
    }
    await runCommand(backupCommand, [file, '--config', here.config])

    expect(readdirSync(dirname(file)).toSorted()).toEqual(['customers.db'])
  })

  test('a copy for readers is no mirror to make a backup of', async () => {
    const here = await aMirroredWorkplace()
    const copy = join(here.folder, 'copies', 'customers.db')
    await runCommand(publishCommand, [copy, '--config', here.config])

    await expect(backUp(copy)).rejects.toMatchObject({ code: 'foreign' })
  })
})
