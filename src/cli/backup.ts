import { count, linesOf, rowsWords, show } from './output/print.ts'
import { type Io, jsonCommand, positive } from './command.ts'
import { clocks, namedConfig, namedFile, namedMirror } from './opening.ts'
import { isPostgres, shownMirror } from '../address/mirror-address.ts'
import { MIRROR_VARIABLE, mirrorOfEnvironment, processEnvironment } from '../config/environment.ts'
import { makeBackup, type Restored, restoreMirror } from '../copies/backup.ts'
import { moveMirror } from '../copies/move.ts'
import { UsageError } from '../errors/errors.ts'
import { isoOf } from '../time/moments.ts'

export function backupCommand(io: Io) {
  return jsonCommand('backup', {
    about:
      'The backup is one file, 0600, with all that the mirror holds. It takes the place of FILE only when all of it was read again. With --keep, the backup that was there is named by its time first, such as customers-20261122T021500123Z.db, and the oldest beyond that number are removed. Only backups made by this command are ever replaced or removed. A mirror in PostgreSQL is left to pg_dump, as docs/operate/postgres.md shows.',
    'backup /backup/customers.db': 'one backup, which each night replaces',
    'backup /backup/customers.db --keep 14': 'this one, and the 13 before it',
  })
    .argument('<file>', 'the backup; an earlier one is replaced once the new one is checked')
    .option('--keep <number>', 'keep this many backups, each older one named by its time', positive)
    .action(async (file, { config: configFile, keep, json }) => {
      const plan = { ...(await placesOf(file, configFile)), keep }
      const made = await makeBackup(plan, { signal: io.signal, ...clocks() })
      const said = `Backup: ${made.file} (${count(made.customers, 'customer')}, checked)`
      const text = linesOf([said, ...made.removed.map((path) => `Removed: ${path}`)])
      show(io, json, { document: { backup: { ...made, takenAt: isoOf(made.takenAt) } }, text })
    })
}

export function restoreCommand(io: Io) {
  return jsonCommand('restore', {
    about:
      'Stop every program that uses the mirror first: a restore over a mirror in use is refused. All of the backup is read and checked before anything is changed. A mirror in PostgreSQL is left to pg_restore and psql, as docs/operate/postgres.md shows.',
    'restore /backup/customers.db': '',
  })
    .argument('<file>', 'the backup')
    .option('--force', 'replace a mirror that is too damaged to find out whether a program has it open')
    .action(async (file, { config: configFile, force, json }) => {
      const plan = { ...(await placesOf(file, configFile)), force: force === true }
      const restored = await restoreMirror(plan, { signal: io.signal, ...clocks() })
      const takenAt = restored.takenAt && isoOf(restored.takenAt)
      show(io, json, { document: { restored: { ...restored, takenAt } }, text: restoredText(restored) })
    })
}

function restoredText(restored: Restored): string {
  const { mirror, file, takenAt, customers, organizations, kept, forgotten, unrecognized, onlyInBackup } = restored
  const taken = takenAt === undefined ? '' : `, taken at ${takenAt.slice(0, 19)} UTC`
  const why = kept === undefined ? 'There is no replaced mirror to compare with' : 'The replaced mirror cannot be read'
  return linesOf([
    `Mirror: ${mirror}`,
    `Restored from ${file}${taken}: ${count(customers, 'customer')} of ${count(organizations, 'organization')}`,
    kept && `The mirror that was there is now ${kept}. It holds personal data: remove it when you no longer need it.`,
    forgotten === undefined &&
      `${why}: customers that were forgotten after the backup are back. Forget them again before the next run.`,
    forgotten !== undefined &&
      forgotten > 0 &&
      `${count(forgotten, 'customer')} forgotten after the backup: still forgotten, and what the backup held of them is deleted.`,
    unrecognized > 0 &&
      `${count(unrecognized, 'customer')} forgotten in the replaced mirror cannot be recognized here, since it was begun anew. Forget them again.`,
    onlyInBackup.length > 0 &&
      `In the backup, and not in the replaced mirror: ${onlyInBackup.join(', ')}. If you renamed or forgot an organization after the backup, do that again.`,
    'What happened after the backup is gone from the feed. Programs that read changes or updated_at need a new copy of the customers.',
  ])
}

export function moveCommand(io: Io) {
  return jsonCommand('move', {
    about:
      'Stop the worker and whatever else starts runs first: a mirror with a run under way is refused. All organizations, their changes, runs and rejects are copied as one state, with all that the next run needs to go on as if nothing had happened. It is all there, or nothing; the mirror that was moved stays as it is. A password belongs in PGPASSWORD or ~/.pgpass.',
    'move --to postgres://mirror@db.example.com/customers': 'into the schema customer_mirror of that database',
    'move --to ./data/customers.db --json': 'back into a file',
  })
    .requiredOption('--to <place>', 'postgres://user@host/database; or a file, not there yet')
    .action(async ({ to, config: configFile, json }) => {
      const config = await namedConfig(configFile)
      const target = namedMirror(to, '--to')
      if (isPostgres(config.mirror) === isPostgres(target)) throw new UsageError(SAME_KIND)
      const moved = await moveMirror({ from: config.mirror, to: target }, { signal: io.signal, ...clocks() })
      const [from, there] = [shownMirror(config.mirror), shownMirror(target)]
      // Unless the environment overrides it, the configuration leads to the mirror.
      const setting =
        mirrorOfEnvironment(processEnvironment()) === undefined
          ? { place: config.file, line: `mirror: ${JSON.stringify(target)}` }
          : { place: 'the environment of every command and worker', line: `${MIRROR_VARIABLE}=${target}` }
      const text = `Mirror: ${there}
Moved from ${from}: ${rowsWords(moved.rows)} of ${count(moved.organizations, 'organization')}
Every row was read again there, and is the same. What others added, as columns and tables, is not there.
${from} is as it was, and what is written there from now on is not in this copy. Runs go on in this copy once you change one line in ${setting.place}:
  ${setting.line}
Then start the worker again. Remove the old mirror when you no longer need it: it holds personal data.
`
      show(io, json, { document: { moved: { from, to: there, ...moved, setting } }, text })
    })
}

const SAME_KIND =
  "Both mirrors are files, or both are in PostgreSQL. A file moves by 'customer-mirror backup' and 'restore', a schema by pg_dump and pg_restore, as docs/operate/postgres.md shows."

/** The backup that is named, and the mirror. Throws UsageError for one in PostgreSQL, whose own programs make backups of it and restore them. */
async function placesOf(file: string, config: string | undefined) {
  const named = namedFile(file, 'backup')
  const { mirror } = await namedConfig(config)
  if (!isPostgres(mirror)) return { mirror, file: named }
  throw new UsageError(
    'The mirror is in PostgreSQL, whose own programs make a backup of it while runs go on, and put one back: docs/operate/postgres.md shows the commands.',
  )
}
