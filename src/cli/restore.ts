import { monotonicMs } from '../machine/monotonic-clock.ts'
import { isoOf } from '../time/iso-time.ts'
import type { Io } from './io.ts'
import { namedConfig } from './arguments/named-config.ts'
import { namedFile } from './arguments/named-file.ts'
import { DestructiveCommand } from './unknown-command.ts'
import { say } from './output/say.ts'
import { refuseRestore } from './postgres-programs.ts'
import { jsonDocument } from './output/json-document.ts'

/** `customer-mirror restore`: puts a backup in the place of the mirror. */
export function restoreCommand(io: Io) {
  return new DestructiveCommand('restore')
    .description('put a backup in the place of the mirror, which is kept beside it under another name')
    .argument('<file>', 'the backup')
    .option('-c, --config <file>', 'configuration file')
    .option('--force', 'replace a mirror that is too damaged to find out whether a program has it open')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (file, { config: configFile, force, json }) => {
      const named = namedFile(file, 'backup')
      const [{ mirror }, { restoreMirror }, { shareProgress }, { restoredText }] = await Promise.all([
        namedConfig(configFile),
        import('../reading/backup/restore-mirror.ts'),
        import('./output/share-progress.ts'),
        import('./output/restored-text.ts'),
      ])
      refuseRestore(mirror, file)
      const progress = shareProgress('Restore', io)
      const plan = { mirror, file: named, force: force === true }
      const copying = { signal: io.signal, onProgress: progress.show, nowMs: Date.now(), monotonicMs: monotonicMs() }
      const restored = await restoreMirror(plan, copying).finally(() => progress.close())
      const { takenAt, kept, forgotten, ...facts } = restored
      const taken = takenAt === undefined ? null : isoOf(takenAt)
      const document = { ...facts, takenAt: taken, kept: kept ?? null, forgotten: forgotten ?? null }
      if (json) io.stdout.write(jsonDocument({ restored: document }))
      else say(io.stdout, restoredText(restored))
    })
}

const EXAMPLES = `
Stop every program that uses the mirror first: a restore over a mirror in use is refused. All of the backup is read and checked
before anything is changed. A mirror in PostgreSQL is left to pg_restore and psql, and the command names
the ones to run.

Examples:
  $ customer-mirror restore /backup/customers.db
  $ customer-mirror restore /backup/customers-20261122T021500123Z.db --json
`
