import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { exitCodeOfRuns } from './exit-code.ts'
import { type Io, screenOf } from './io.ts'
import { runsTable } from './output/run-words.ts'
import { configOption, print, say, shellWord } from './output/say.ts'
import { UsageError } from '../errors/errors.ts'
import type { Outcome } from '../sync/mirror-organization.ts'

/** `customer-mirror demo`: the whole thing against a sandbox on this machine, in under a minute. */
export function demoCommand(io: Io) {
  return new Command('demo')
    .description('mirror three made-up organizations from a sandbox, twice')
    .option('--folder <folder>', 'where the mirror and its configuration go', 'data/demo')
    .addHelpText('after', EXAMPLES)
    .action(({ folder }) => runDemo(folder, io))
}

const EXAMPLES = `
Examples:
  $ customer-mirror demo
  $ customer-mirror demo --folder trial
`

/** Small enough that the second organization is throttled, with a short wait. */
const RATE_LIMIT = { organization: 'globex', requests: 6, windowMs: 3000 }
const CUSTOMERS = [2500, 1050, 40]

const SCHEDULE = { cron: '0 2 * * *', timezone: 'Europe/Paris' }

/**
 * Starts a sandbox, writes a configuration with its three organizations, mirrors each of them twice, and prints what to try next.
 */
async function runDemo(folder: string, io: Io): Promise<void> {
  if (folder.trim() === '') throw new UsageError('The name of the folder is empty: --folder names a folder.')
  const [config, mirror] = [join(folder, 'customer-mirror.yaml'), join(folder, 'customers.db')]
  await clearAway(config, mirror)
  const [{ startSandbox }, { writeConfig }] = await Promise.all([
    import('../service/sandbox.ts'),
    import('../service/write-config.ts'),
  ])
  const sandbox = await startSandbox({ customers: CUSTOMERS, rateLimits: [RATE_LIMIT] })
  try {
    const settings = { mirror: './customers.db', queue: 'embedded', schedule: SCHEDULE }
    await writeConfig(config, sandbox, { ...settings, finished: markedAsDemo })
    say(
      io.stderr,
      `A sandbox with three organizations listens at ${sandbox.origin}.\n\nFirst run: every customer is new.\n`,
    )
    const first = await runAll(config, io)
    io.exitWith(exitCodeOfRuns(first))
    if (io.signal.aborted) return

    say(io.stderr, 'Second run: nothing changed, so no customer is written again.\n')
    const second = await runAll(config, io)
    io.exitWith(exitCodeOfRuns([...first, ...second]))
    print(io.stdout, `Mirror: ${mirror}\n\n${nextSteps(config, mirror)}`)
  } finally {
    await sandbox.close()
  }
}

/** Runs every organization, prints a line for each, and returns their outcomes. */
async function runAll(config: string, io: Io): Promise<Outcome[]> {
  const { syncOrganizations } = await import('./sync-organizations.ts')
  const { outcomes } = await syncOrganizations([], { config }, io)
  const reports = outcomes.map(({ report }) => report)
  print(io.stdout, `\n${runsTable(reports, screenOf(io.stdout))}\n`)
  return outcomes
}

/** Removes what an earlier demo left; throws UsageError for a folder with anything that no demo made, or that was changed since. */
async function clearAway(config: string, mirror: string): Promise<void> {
  const folder = dirname(mirror)
  const others = [mirror, `${mirror}-wal`, `${mirror}-shm`, join(folder, 'queue')]
  const { readText } = await import('../config/read-text.ts')
  const found = await readText(config, { maxBytes: MAX_BYTES })
  if ('problem' in found && !found.missing)
    throw new UsageError(`${config} ${found.problem}. Name another folder with --folder.`)
  const isOurs = 'text' in found ? isOfDemo(found.text) : !others.some((file) => existsSync(file))
  if (!isOurs) {
    throw new UsageError(
      `${folder} holds files that no demo made, or whose configuration was changed since. They were left as they are; move them ` +
        'away, or name another folder with --folder.',
    )
  }
  // The configuration goes last: without it the rest would be taken for files of someone else.
  for (const file of [...others, config]) await rm(file, { force: true, recursive: true })
}

const MAX_BYTES = 64 * 1024

function nextSteps(config: string, mirror: string): string {
  const option = configOption(config)
  return `Try next:
  ${PROGRAM} sql --mirror ${shellWord(mirror)} "SELECT organization, language, COUNT(*) FROM active_customers GROUP BY 1, 2"
  ${PROGRAM} status${option}
  ${PROGRAM} schedule${option}
`
}

/** How this program is called: where it is installed it is compiled, and a checkout of it has an npm script. */
const PROGRAM = import.meta.url.endsWith('.ts') ? 'npm start --' : 'customer-mirror'

/** The configuration of a demo, with a last line by which a later demo recognizes it as long as it is unchanged. */
export function markedAsDemo(text: string): string {
  return `${text}${MARK}${createHash('sha256').update(text).digest('hex')}\n`
}

/** Whether a demo wrote this configuration, and it was not changed since. */
export function isOfDemo(text: string): boolean {
  const end = text.lastIndexOf(MARK)
  return end >= 0 && text === markedAsDemo(text.slice(0, end))
}

const MARK = '# A demo wrote this file, and the next one replaces it, its mirror and its queue, unless it was changed: '
