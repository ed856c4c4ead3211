import { isPostgres, shownMirror } from '../address/mirror-address.ts'
import { clocks, command, JSON_OPTION, namedConfig, namedFile, namedMirror, show, wholeNumber } from './command.ts'
import type { Io } from './io.ts'
import { count } from './output/say.ts'
import { MIRROR_VARIABLE, mirrorOfEnvironment, processEnvironment } from '../config/environment.ts'
import { makeBackup } from '../copies/backup.ts'
import { moveMirror } from '../copies/move.ts'
import { type Restored, restoreMirror } from '../copies/restore.ts'
import { UsageError } from '../errors/errors.ts'
import { isoOf } from '../time/moments.ts'

/** `customer-mirror backup`: makes a checked backup of the whole mirror, while runs go on. */
export function backupCommand(io: Io) {
  return command('backup', EXAMPLES)
    .argument('<file>', 'the backup; an earlier one is replaced once the new one is checked')
    .option('--keep <number>', 'keep this many backups, each older one named by its time', wholeNumber({ least: 1 }))
    .option(...JSON_OPTION)
    .action(async (file, { config: configFile, keep, json }) => {
      const named = namedFile(file, 'backup')
      const { mirror } = await namedConfig(configFile)
      requireFile(mirror)
      const made = await makeBackup({ mirror, file: named, keep }, { signal: io.signal, ...clocks() })
      const removed = made.removed.map((path) => `Removed: ${path}\n`).join('')
      show(io, json, {
        document: { backup: { ...made, takenAt: isoOf(made.takenAt) } },
        table: `Backup: ${made.file} (${count(made.customers, 'customer')}, checked)\n${removed}`,
      })
    })
}

const EXAMPLES = `
The backup is one file, 0600, with all that the mirror holds. It takes the place of FILE only when all of it was read again. With --keep, the backup that was there is named by its time first, such as customers-20261122T021500123Z.db, and the oldest beyond that number are removed. Only backups made by this command are ever replaced or removed. A mirror in PostgreSQL is left to pg_dump, as docs/operate/postgres.md shows.

Examples:
  $ customer-mirror backup /backup/customers.db
      one backup, which each night replaces
  $ customer-mirror backup /backup/customers.db --keep 14
      this one, and the 13 before it
`

/** `customer-mirror restore`: puts a backup in the place of the mirror. */
export function restoreCommand(io: Io) {
  return command('restore', RESTORE_EXAMPLES)
    .argument('<file>', 'the backup')
    .option('--force', 'replace a mirror that is too damaged to find out whether a program has it open')
    .option(...JSON_OPTION)
    .action(async (file, { config: configFile, force, json }) => {
      const named = namedFile(file, 'backup')
      const { mirror } = await namedConfig(configFile)
      requireFile(mirror)
      const plan = { mirror, file: named, force: force === true }
      const restored = await restoreMirror(plan, { signal: io.signal, ...clocks() })
      const { takenAt, kept, forgotten, ...facts } = restored
      const taken = takenAt === undefined ? null : isoOf(takenAt)
      const document = { ...facts, takenAt: taken, kept: kept ?? null, forgotten: forgotten ?? null }
      show(io, json, { document: { restored: document }, text: restoredText(restored) })
    })
}

const RESTORE_EXAMPLES = `
Stop every program that uses the mirror first: a restore over a mirror in use is refused. All of the backup is read and checked before anything is changed. A mirror in PostgreSQL is left to pg_restore and psql, as docs/operate/postgres.md shows.

Examples:
  $ customer-mirror restore /backup/customers.db
  $ customer-mirror restore /backup/customers-20261122T021500123Z.db --json
`

/** What was restored, and what is left to do. */
export function restoredText(restored: Restored): string {
  const { mirror, file, takenAt, customers, organizations, kept, forgotten, unrecognized, onlyInBackup } = restored
  const taken = takenAt === undefined ? '' : `, taken at ${takenAt.slice(0, 19)} UTC`
  const uncompared =
    kept === undefined ? 'There is no replaced mirror to compare with' : 'The replaced mirror cannot be read'
  const lines: (string | false)[] = [
    `Mirror: ${mirror}`,
    `Restored from ${file}${taken}: ${count(customers, 'customer')} of ${count(organizations, 'organization')}`,
    kept !== undefined &&
      `The mirror that was there is now ${kept}. It holds personal data: remove it when you no longer need it.`,
    forgotten === undefined &&
      `${uncompared}: customers that were forgotten after the backup are back. Forget them again before the next run.`,
    forgotten !== undefined &&
      forgotten > 0 &&
      `${count(forgotten, 'customer')} forgotten after the backup: still forgotten, and what the backup held of them is deleted.`,
    unrecognized > 0 &&
      `${count(unrecognized, 'customer')} forgotten in the replaced mirror cannot be recognized here: it was begun anew, and ` +
        'the backup has another key and not their ids. Forget them again where they are listed.',
    onlyInBackup.length > 0 &&
      `In the backup, and not in the replaced mirror: ${onlyInBackup.join(', ')}. If you renamed or forgot an organization after the ` +
        'backup, do that again.',
    'What happened after the backup is gone from the feed, and its numbers are not used again. Programs that read changes ' +
      'or updated_at need a new copy of the customers.',
  ]
  return `${lines.filter((line) => line !== false).join('\n')}\n`
}

/** `customer-mirror move`: copies the mirror from a file to PostgreSQL or back. */
export function moveCommand(io: Io) {
  return command('move', MOVE_EXAMPLES)
    .requiredOption(
      '--to <place>',
      'the address of a database, postgres://user@host/database; or a file, not there yet',
    )
    .option(...JSON_OPTION)
    .action(async ({ to, config: configFile, json }) => {
      if (to.trim() === '') throw new UsageError('--to is empty: name the address of a database, or a file.')
      const config = await namedConfig(configFile)
      const target = namedMirror(to, '--to')
      requireOtherKind(config.mirror, target)
      const plan = { from: config.mirror, to: target }
      const moved = await moveMirror(plan, { signal: io.signal, ...clocks() })
      const [from, there] = [shownMirror(config.mirror), shownMirror(target)]
      const setting = settingOf(target, config.file)
      const of = (table: string, what: string) => count(moved.rows[table] ?? 0, what)
      const text = `Mirror: ${there}
Moved from ${from}: ${of('customers', 'customer')} of ${count(moved.organizations, 'organization')}, ${of('changes', 'change')}, ${of('runs', 'run')}, ${of('rejects', 'reject')}
Every row was read again there, and is the same.
${from} is as it was, and what is written there from now on is not in this copy. Runs go on in this copy once you change one line in ${setting.place}:
  ${setting.line}
Then start the worker again. Remove the old mirror when you no longer need it: it holds personal data.
`
      show(io, json, { document: { moved: { from, to: there, ...moved, setting } }, text })
    })
}

function requireOtherKind(from: string, to: string): void {
  if (isPostgres(from) !== isPostgres(to)) return
  throw new UsageError(
    isPostgres(from)
      ? 'Both mirrors are in PostgreSQL. To copy a schema from one database to another, use pg_dump and pg_restore, as docs/operate/postgres.md shows.'
      : "Both mirrors are files. To have the mirror at another place, make a backup with 'customer-mirror backup', and restore it with a configuration that names that place.",
  )
}

const MOVE_EXAMPLES = `
Stop the worker and whatever else starts runs first: a mirror with a run under way is refused. All organizations, their changes, runs and rejects are copied as one state, with all that the next run needs to go on as if nothing had happened. It is all there, or nothing; the mirror that was moved stays as it is. A password belongs in PGPASSWORD or ~/.pgpass.

Examples:
  $ customer-mirror move --to postgres://mirror@db.example.com/customers
      from the file of the configuration into the schema customer_mirror of that database
  $ customer-mirror move --to ./data/customers.db --json
      back into a file
`

/** The setting that leads to a mirror: in the configuration, unless the environment overrides it. */
function settingOf(mirror: string, configFile: string) {
  return mirrorOfEnvironment(processEnvironment()) === undefined
    ? { place: configFile, line: `mirror: ${JSON.stringify(mirror)}` }
    : { place: `the environment of every command and worker`, line: `${MIRROR_VARIABLE}=${mirror}` }
}

/** Throws UsageError for a mirror in PostgreSQL, whose own programs make backups of it and restore them. */
function requireFile(mirror: string): void {
  if (!isPostgres(mirror)) return
  throw new UsageError(
    'The mirror is in PostgreSQL, whose own programs make a backup of it while runs go on, and put one back: docs/operate/postgres.md shows the commands.',
  )
}
