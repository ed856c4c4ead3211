import { configOption, grouped, linesOf, print, printTable, say, shellWord } from './output/print.ts'
import { bareCommand, type Io, port, positive, wholeNumber } from './command.ts'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { UsageError } from '../errors/errors.ts'
import { IS_CHECKOUT } from '../machine/version.ts'
import { closing } from '../store/mirror.ts'
import { startSandbox, writeConfig } from '../service/sandbox.ts'
import { SCENARIOS } from '../service/scenarios/scenarios.ts'
import type { Outcome } from '../sync/mirror-organization.ts'
import { exitCodeOfRuns, runsTable } from './output/run-words.ts'

export function sandboxCommand({ signal, stdout, stderr }: Io) {
  return bareCommand('sandbox', {
    'sandbox --write-config customer-mirror.yaml': 'three organizations, and a configuration that mirrors them',
    'sandbox --customers 2500,1050,40 --rate-limit 60': 'lists of different lengths, and a request a second at most',
    'sandbox --scenario insert-delete --seed 7': 'a list that changes while it is read, in the same way for the seed',
  })
    .option('--host <address>', 'address to listen at', '127.0.0.1')
    .option('--port <number>', 'port to listen at; 0 takes any free one', port, 4010)
    .option('--seed <text>', 'the same seed gives the same customers, keys and secrets', '1')
    .option('--customers <counts>', 'of each organization, or a list: 2500,1050,40 (default: 1050)', readCounts)
    .option('--rate-limit <number>', 'requests a minute that each organization may send', positive)
    .option('--scenario <name>', 'how the service misbehaves (default: still)')
    .option('--list-scenarios', 'describe every scenario, and end')
    .option('--write-config <file>', 'write a configuration that mirrors the sandbox')
    .action(async ({ rateLimit, writeConfig: file, listScenarios, ...options }) => {
      const scenarios = { head: ['scenario', ''], rows: SCENARIOS.map(({ name, says }) => [name, says]) }
      if (listScenarios) return printTable(stdout, scenarios)
      const rateLimits = rateLimit === undefined ? [] : [{ requests: rateLimit, windowMs: 60_000 }]
      await closing(await startSandbox({ ...options, rateLimits }), async (sandbox) => {
        if (file !== undefined) await writeConfig(file, sandbox)
        // The credentials too: they are made up, and valid for this sandbox only.
        const blocks = sandbox.organizations.map(({ id, baseUrl, apiKey, secret, customers }) => {
          const keys = `  base URL  ${baseUrl}\n  API key   ${apiKey}\n  secret    ${secret}\n`
          return `${id}, ${grouped(customers.length)} customers\n${keys}`
        })
        print(stdout, blocks.join('\n'))
        const playing = options.scenario === undefined ? '' : ` and plays the scenario ${options.scenario}`
        say(stderr, `\nThe sandbox listens at ${sandbox.origin}${playing}. Ctrl-C stops it.\n`)
        if (file !== undefined)
          say(stderr, `Wrote ${file}. In another terminal:\n  customer-mirror sync${configOption(file)}\n`)
        if (!signal.aborted) await once(signal, 'abort')
      })
    })
}

function readCounts(text: string): number | number[] {
  const counts = text.split(',').map(wholeNumber({ least: 0, most: 1_000_000 }))
  return counts.length === 1 ? (counts[0] ?? 0) : counts
}

export function demoCommand(io: Io) {
  return bareCommand('demo', { demo: '', 'demo --folder trial': '' })
    .option('--folder <folder>', 'where the mirror and its configuration go, a new folder', 'data/demo')
    .action(async ({ folder }) => {
      if (folder.trim() === '') throw new UsageError('The name of the folder is empty: --folder names a folder.')
      // It may hold something else than an earlier demo.
      if (existsSync(folder))
        throw new UsageError(
          `${folder} is there already. Name another folder with --folder, or remove it (rm -r ${shellWord(folder)}).`,
        )
      const [config, mirror] = [join(folder, 'customer-mirror.yaml'), join(folder, 'customers.db')]
      const { syncOrganizations } = await import('./sync.ts')
      const throttled = { organization: 'globex', requests: 6, windowMs: 3000 }
      const started = startSandbox({ customers: [2500, 1050, 40], rateLimits: [throttled] })
      await closing(await started, async (sandbox) => {
        const schedule = { cron: '0 2 * * *', timezone: 'Europe/Paris' }
        await writeConfig(config, sandbox, { mirror: './customers.db', queue: 'embedded', schedule })
        say(io.stderr, `A sandbox with three organizations listens at ${sandbox.origin}.\n\n`)
        const all: Outcome[] = []
        for (const night of NIGHTS) {
          if (io.signal.aborted) return
          say(io.stderr, `${night}\n`)
          const { outcomes } = await syncOrganizations([], { config }, io)
          all.push(...outcomes)
          print(io.stdout, '\n')
          printTable(io.stdout, runsTable(outcomes.map(({ report }) => report)))
          print(io.stdout, '\n')
          io.exitWith(exitCodeOfRuns({ outcomes: all }))
        }
        const option = configOption(config)
        const query = 'SELECT organization, language, COUNT(*) FROM active_customers GROUP BY 1, 2'
        const next = [`sql --mirror ${shellWord(mirror)} "${query}"`, `status${option}`, `schedule${option}`]
        const lines = next.map((line) => `  ${PROGRAM} ${line}`)
        print(io.stdout, linesOf([`Mirror: ${mirror}\n\nTry next:`, ...lines]))
      })
    })
}

const NIGHTS = ['First run: every customer is new.', 'Second run: nothing changed, so no customer is written again.']

/** How this program is called: where it is installed it is compiled, and a checkout of it has an npm script. */
const PROGRAM = IS_CHECKOUT ? 'npm start --' : 'customer-mirror'
