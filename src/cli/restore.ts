import { clocks, command, JSON_OPTION, namedConfig, namedFile, show } from './command.ts'
import type { Io } from './io.ts'
import { count } from './output/say.ts'
import { refuseRestore } from './postgres-programs.ts'
import type { Restored } from '../copies/restore.ts'
import { isoOf } from '../time/moments.ts'

/** `customer-mirror restore`: puts a backup in the place of the mirror. */
export function restoreCommand(io: Io) {
  return command('restore', 'put a backup in the place of the mirror, which is kept beside it', EXAMPLES)
    .argument('<file>', 'the backup')
    .option('--force', 'replace a mirror that is too damaged to find out whether a program has it open')
    .option(...JSON_OPTION)
    .action(async (file, { config: configFile, force, json }) => {
      const named = namedFile(file, 'backup')
      const { mirror } = await namedConfig(configFile)
      const { restoreMirror } = await import('../copies/restore.ts')
      refuseRestore(mirror, file)
      const plan = { mirror, file: named, force: force === true }
      const restored = await restoreMirror(plan, { signal: io.signal, ...clocks() })
      const { takenAt, kept, forgotten, ...facts } = restored
      const taken = takenAt === undefined ? null : isoOf(takenAt)
      const document = { ...facts, takenAt: taken, kept: kept ?? null, forgotten: forgotten ?? null }
      show(io, json, { document: { restored: document }, text: restoredText(restored) })
    })
}

const EXAMPLES = `
Stop every program that uses the mirror first: a restore over a mirror in use is refused. All of the backup is read and checked before anything is changed. A mirror in PostgreSQL is left to pg_restore and psql, and the command names the ones to run.

Examples:
  $ customer-mirror restore /backup/customers.db
  $ customer-mirror restore /backup/customers-20261122T021500123Z.db --json
`

/** What was restored, and what is left to do. */
export function restoredText({
  mirror,
  file,
  takenAt,
  customers,
  organizations,
  kept,
  feedGoesBack,
  forgotten,
  unrecognized,
  onlyInBackup,
}: Restored): string {
  const taken = takenAt === undefined ? '' : `, taken at ${takenAt.slice(0, 19)} UTC`
  const lines = [
    `Mirror: ${mirror}`,
    `Restored from ${file}${taken}: ${count(customers, 'customer')} of ${count(organizations, 'organization')}`,
  ]
  if (kept !== undefined)
    lines.push(
      `The mirror that was there is now ${kept}. It holds personal data: remove it when you no longer need it.`,
    )
  if (forgotten === undefined)
    lines.push(
      `${kept === undefined ? 'There is no replaced mirror to compare with' : 'The replaced mirror cannot be read'}: customers that ` +
        'were forgotten after the backup are back. Forget them again before the next run.',
    )
  else if (forgotten > 0)
    lines.push(
      `${count(forgotten, 'customer')} forgotten after the backup: still forgotten, and what the backup held of them is deleted.`,
    )
  if (unrecognized > 0)
    lines.push(
      `${count(unrecognized, 'customer')} forgotten in the replaced mirror cannot be recognized here: it was begun anew, and ` +
        'the backup has another key and not their ids. Forget them again where they are listed.',
    )
  if (onlyInBackup.length > 0)
    lines.push(
      `In the backup, and not in the replaced mirror: ${onlyInBackup.join(', ')}. If you renamed or forgot an organization after the ` +
        'backup, do that again.',
    )
  if (feedGoesBack)
    lines.push(
      'What happened after the backup is gone from the feed, and its numbers are not used again. Programs that read changes ' +
        'or updated_at need a new copy of the customers.',
    )
  return `${lines.join('\n')}\n`
}
