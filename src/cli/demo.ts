import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { UsageError } from '../errors/errors.ts'
import { isCheckout } from '../machine/version.ts'
import { startSandbox, writeConfig } from '../service/sandbox.ts'
import type { Outcome } from '../sync/mirror-organization.ts'
import { exitCodeOfRuns } from './exit-code.ts'
import { screenOf, type Io } from './io.ts'
import { runsTable } from './output/run-words.ts'
import { configOption, print, say, shellWord } from './output/say.ts'
import { syncOrganizations } from './sync.ts'

/** `customer-mirror demo`: the whole thing against a sandbox on this machine, in under a minute. */
export function demoCommand(io: Io) {
  return new Command('demo')
    .option('--folder <folder>', 'where the mirror and its configuration go, a new folder', 'data/demo')
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
 * Starts a sandbox, writes a configuration with its three organizations into a new folder, mirrors each of them twice, and prints what to try
 * next. Throws UsageError for a folder that is there: it may hold something else than an earlier demo.
 */
async function runDemo(folder: string, io: Io): Promise<void> {
  if (folder.trim() === '') throw new UsageError('The name of the folder is empty: --folder names a folder.')
  if (existsSync(folder))
    throw new UsageError(
      `${folder} is there already and was left as it is. If it is of an earlier demo, remove it (rm -r ${shellWord(folder)}); ` +
        'otherwise name another folder with --folder.',
    )
  const [config, mirror] = [join(folder, 'customer-mirror.yaml'), join(folder, 'customers.db')]
  const sandbox = await startSandbox({ customers: CUSTOMERS, rateLimits: [RATE_LIMIT] })
  try {
    await writeConfig(config, sandbox, { mirror: './customers.db', queue: 'embedded', schedule: SCHEDULE })
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
  const { outcomes } = await syncOrganizations([], { config }, io)
  const reports = outcomes.map(({ report }) => report)
  print(io.stdout, `\n${runsTable(reports, screenOf(io.stdout))}\n`)
  return outcomes
}

function nextSteps(config: string, mirror: string): string {
  const option = configOption(config)
  return `Try next:
  ${PROGRAM} sql --mirror ${shellWord(mirror)} "SELECT organization, language, COUNT(*) FROM active_customers GROUP BY 1, 2"
  ${PROGRAM} status${option}
  ${PROGRAM} schedule${option}
`
}

/** How this program is called. */
const PROGRAM = isCheckout() ? 'npm start --' : 'customer-mirror'
