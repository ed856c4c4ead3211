import { join } from 'node:path'
import { expect, test } from 'vitest'
import { backupCommand } from '../../src/cli/backup.ts'
import { exportCommand } from '../../src/cli/export.ts'
import { organizationsCommand } from '../../src/cli/organizations.ts'
import { publishCommand } from '../../src/cli/publish.ts'
import { queryCommand } from '../../src/cli/query.ts'
import { runsCommand } from '../../src/cli/runs.ts'
import { sqlCommand } from '../../src/cli/sql.ts'
import { statusCommand } from '../../src/cli/status.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { VERSION } from '../../src/store/schema/schema.ts'
import { dump, tamper } from '../support/mirror-file.ts'
import { runCommand } from '../support/run-command.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

type Command = [name: string, command: Parameters<typeof runCommand>[0], ...args: string[]]

const COMMANDS: Command[] = [
  ['sync', syncCommand],
  ['sync --dry-run', syncCommand, '--dry-run'],
  ['status', statusCommand],
  ['runs', runsCommand],
  ['query', queryCommand],
  ['sql', sqlCommand, 'SELECT 1'],
  ['export', exportCommand, '--format', 'csv'],
  ['publish', publishCommand, 'copies/copy.db'],
  ['organizations list', organizationsCommand, 'list'],
  ['backup', backupCommand, 'backup.db'],
]

test.each([VERSION - 1, VERSION + 1])(
  'each command refuses a mirror of version %d with 7, and says what to do',
  async (version) => {
    const workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [3] })))
    await runCommand(syncCommand, ['--config', workplace.config])
    tamper(workplace.mirror, `PRAGMA user_version = ${version}`)
    const before = dump(workplace.mirror)
    const said =
      `customers.db: another version of Customer Mirror made this mirror (it is of version ${version}, this program makes and reads version ` +
      `${VERSION}), so it is left as it is. Use the version that made it, or name another mirror in the configuration and sync anew.`

    for (const [name, command, ...args] of COMMANDS) {
      const given = args.map((arg) => (arg.endsWith('.db') ? join(workplace.folder, arg) : arg))
      const done = await runCommand(command, [...given, '--config', workplace.config])

      expect(done, name).toMatchObject({ code: 7, stdout: '', stderr: expect.stringContaining(said) })
    }
    expect(dump(workplace.mirror)).toEqual(before)
  },
)
