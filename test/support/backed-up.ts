import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { backupCommand } from '../../src/cli/backup.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { runCommand } from './run-command.ts'
import { aSandbox, aWorkplace, organizationsOf } from './workplace.ts'

export const COUNT = 'SELECT count(*) FROM customers'

/** Without what a test that reads the mirror lets SQLite leave there. */
export function namesBeside(file: string): string[] {
  return readdirSync(dirname(file)).filter((name) => !/^customers\.db-(wal|shm)$/.test(name))
}

export async function aBackedUpWorkplace() {
  const workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [900] })))
  await runCommand(syncCommand, ['--config', workplace.config])
  const backup = join(workplace.folder, 'backups', 'customers.db')
  await runCommand(backupCommand, [backup, '--config', workplace.config])
  return { ...workplace, backup }
}
