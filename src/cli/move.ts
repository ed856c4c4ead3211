import { isPostgres, shownMirror } from '../address/mirror-address.ts'
import { clocks, command, JSON_OPTION, namedConfig, namedMirror, show } from './command.ts'
import type { Io } from './io.ts'
import { count } from './output/say.ts'
import { MIRROR_VARIABLE, mirrorOfEnvironment, processEnvironment } from '../config/environment.ts'
import { UsageError } from '../errors/errors.ts'

/** `customer-mirror move`: copies the mirror from a file to PostgreSQL or back. */
export function moveCommand(io: Io) {
  return command('move', 'copy the mirror from its file to PostgreSQL or back, and compare', EXAMPLES)
    .requiredOption(
      '--to <place>',
      'the address of a database, postgres://user@host/database; or a file, not there yet',
    )
    .option(...JSON_OPTION)
    .action(async ({ to, config: configFile, json }) => {
      if (to.trim() === '') throw new UsageError('--to is empty: name the address of a database, or a file.')
      const config = await namedConfig(configFile)
      const { moveMirror } = await import('../copies/move.ts')
      const target = namedMirror(to, '--to')
      requireOtherKind(config.mirror, target)
      const isReadOnly = await acceptsNoWrites(config.mirror)
      const plan = { from: config.mirror, to: target }
      const moved = await moveMirror(plan, { signal: io.signal, ...clocks() })
      const facts = {
        from: shownMirror(config.mirror),
        to: shownMirror(target),
        ...moved,
        setting: settingOf(target, config.file),
      }
      show(io, json, { document: { moved: facts }, text: movedText(facts, isReadOnly) })
    })
}

/** Whether runs are made elsewhere: the mirror is on a standby, or on a server that is read-only by its settings. */
async function acceptsNoWrites(mirror: string): Promise<boolean> {
  if (!isPostgres(mirror)) return false
  const { examineServer } = await import('../store/mirror.ts')
  return (await examineServer(mirror)).isReadOnly
}

function requireOtherKind(from: string, to: string): void {
  if (isPostgres(from) !== isPostgres(to)) return
  throw new UsageError(
    isPostgres(from)
      ? "Both mirrors are in PostgreSQL. To copy a schema from one database to another, use pg_dump and pg_restore; 'customer-mirror backup' names the command."
      : "Both mirrors are files. To have the mirror at another place, make a backup with 'customer-mirror backup', and restore it with a configuration that names that place.",
  )
}

const EXAMPLES = `
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

type Moved = Awaited<ReturnType<typeof import('../copies/move.ts').moveMirror>>
type MovedFacts = Moved & { from: string; to: string; setting: ReturnType<typeof settingOf> }

/** What was moved, and what is left to do. `isReadOnly`: the server that it was moved from accepts no writes. */
function movedText({ from, to, organizations, rows, setting }: MovedFacts, isReadOnly: boolean): string {
  const of = (table: string, what: string) => count(rows[table] ?? 0, what)
  const left = isReadOnly
    ? `${from} accepts no writes (a standby, or read-only by its settings): runs are made on another server, and what they have ` +
      `written since is not in this copy.\nTo have runs go on in this copy, change one line in ${setting.place}:`
    : `${from} is as it was, and runs go on there until you change one line in ${setting.place}:`
  return `Mirror: ${to}
Moved from ${from}: ${of('customers', 'customer')} of ${count(organizations, 'organization')}, ${of('changes', 'change')}, ${of('runs', 'run')}, ${of('rejects', 'reject')}
Every row was read again there, and is the same.
${left}
  ${setting.line}
Then start the worker again. Remove the old mirror when you no longer need it: it holds personal data.
`
}
