import { expect, test } from 'vitest'
import { exportCommand } from '../../../src/cli/export.ts'
import { restoreCommand } from '../../../src/cli/restore.ts'
import { syncCommand } from '../../../src/cli/sync.ts'
import { aBackedUpWorkplace, lose } from '../../support/backing-up.ts'
import { runCommand } from '../../support/run-command.ts'

test('readers of the feed of a lost mirror are sent to a new copy, from which they go on', async () => {
  const here = await aBackedUpWorkplace()
  lose(here.mirror)
  const restored = await runCommand(restoreCommand, [here.backup, '--config', here.config])
  await runCommand(syncCommand, ['--config', here.config])
  const since = (seq: string) =>
    runCommand(exportCommand, ['--format', 'jsonl', '--changes-since', seq, '--config', here.config])
  const whole = await runCommand(exportCommand, ['--format', 'jsonl', '--config', here.config])
  const seq = /Last seq: (\d+)/.exec(whole.stderr)?.[1] ?? ''

  expect(restored.stdout).toMatch(/forgotten after the backup are back[^]*need a new copy of the customers/)
  expect(await since('3')).toMatchObject({ code: 2, stderr: expect.stringContaining('start again from a copy') })
  expect(await since(seq)).toMatchObject({ code: 0 })
})
