import { clocks, command, JSON_OPTION, namedConfig, namedFile, show, wholeNumber } from './command.ts'
import type { Io } from './io.ts'
import { count } from './output/say.ts'
import { refuseBackup } from './postgres-programs.ts'
import { isoOf } from '../time/moments.ts'

/** `customer-mirror backup`: makes a checked backup of the whole mirror, while runs go on. */
export function backupCommand(io: Io) {
  return command('backup', 'make a backup of the whole mirror, and check it', EXAMPLES)
    .argument('<file>', 'the backup; an earlier one is replaced once the new one is checked')
    .option('--keep <number>', 'keep this many backups, each older one named by its time', wholeNumber({ least: 1 }))
    .option(...JSON_OPTION)
    .action(async (file, { config: configFile, keep, json }) => {
      const named = namedFile(file, 'backup')
      const { mirror } = await namedConfig(configFile)
      const { makeBackup } = await import('../copies/backup.ts')
      refuseBackup(mirror, file)
      const made = await makeBackup({ mirror, file: named, keep }, { signal: io.signal, ...clocks() })
      const removed = made.removed.map((path) => `Removed: ${path}\n`).join('')
      show(io, json, {
        document: { backup: { ...made, takenAt: isoOf(made.takenAt) } },
        table: `Backup: ${made.file} (${count(made.customers, 'customer')}, checked)\n${removed}`,
      })
    })
}

const EXAMPLES = `
The backup is one file, 0600, with all that the mirror holds. It takes the place of FILE only when all of it was read again. With --keep, the backup that was there is named by its time first, such as customers-20261122T021500123Z.db, and the oldest beyond that number are removed. Only backups made by this command are ever replaced or removed. A mirror in PostgreSQL is left to pg_dump, and the command names the one to run.

Examples:
  $ customer-mirror backup /backup/customers.db
      one backup, which each night replaces
  $ customer-mirror backup /backup/customers.db --keep 14
      this one, and the 13 before it
`
