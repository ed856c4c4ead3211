import { once } from 'node:events'
import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { wholeNumber } from './command.ts'
import { type Io, screenOf } from './io.ts'
import { configOption, grouped, hanging, print, say } from './output/say.ts'
import { type Sandbox, startSandbox, writeConfig } from '../service/sandbox.ts'
import { SCENARIOS } from '../service/scenarios/scenarios.ts'

/** `customer-mirror sandbox`: runs the service on this machine, with made-up customers, until it is stopped. */
export function sandboxCommand({ signal, stdout, stderr }: Io): CommandUnknownOpts {
  return new Command('sandbox')
    .option('--host <address>', 'address to listen at', '127.0.0.1')
    .option('--port <number>', 'port to listen at; 0 takes any free one', wholeNumber({ least: 0, most: 65_535 }), 4010)
    .option('--seed <text>', 'the same seed gives the same customers, keys and secrets', '1')
    .option(
      '--customers <counts>',
      'of each of three organizations, or a list: 2500,1050,40 (default: 1050)',
      readCounts,
    )
    .option('--rate-limit <number>', 'requests a minute that each organization may send', wholeNumber({ least: 1 }))
    .option('--scenario <name>', 'how the service misbehaves (default: still)')
    .option('--list-scenarios', 'describe every scenario, and end')
    .option('--write-config <file>', 'write a configuration that mirrors the sandbox')
    .addHelpText('after', EXAMPLES)
    .action(async ({ rateLimit, writeConfig: file, listScenarios, ...options }) => {
      if (listScenarios) return print(stdout, scenarioList(screenOf(stdout)?.columns))
      const rateLimits = rateLimit === undefined ? [] : [{ requests: rateLimit, windowMs: 60_000 }]
      const sandbox = await startSandbox({ ...options, rateLimits })
      try {
        if (file !== undefined) await writeConfig(file, sandbox)
        print(stdout, describe(sandbox))
        say(stderr, nextSteps(sandbox, file, options.scenario))
        if (!signal.aborted) await once(signal, 'abort')
      } finally {
        await sandbox.close()
      }
    })
}

/** Prints the credentials too: they are made up, and valid for this sandbox only. */
function describe({ organizations }: Sandbox): string {
  const blocks = organizations.map(
    ({ id, baseUrl, apiKey, secret, customers }) =>
      `${id}, ${grouped(customers.length)} customers\n  base URL  ${baseUrl}\n  API key   ${apiKey}\n  secret    ${secret}\n`,
  )
  return blocks.join('\n')
}

/** A line for each scenario: its name, then what it does. */
function scenarioList(columns = Number.POSITIVE_INFINITY): string {
  const width = Math.max(...SCENARIOS.map(({ name }) => name.length))
  return SCENARIOS.map(({ name, says }) => `${hanging(`${name.padEnd(width)}  `, says, columns)}\n`).join('')
}

function nextSteps({ origin }: Sandbox, file: string | undefined, scenario: string | undefined): string {
  const written =
    file === undefined ? '' : `Wrote ${file}. In another terminal:\n  customer-mirror sync${configOption(file)}\n`
  const playing = scenario === undefined ? '' : ` and plays the scenario ${scenario}`
  return `\nThe sandbox listens at ${origin}${playing}. Ctrl-C stops it.\n${written}`
}

function readCounts(text: string): number | number[] {
  const counts = text.split(',').map(wholeNumber({ least: 0, most: 1_000_000 }))
  return counts.length === 1 ? (counts[0] ?? 0) : counts
}

const EXAMPLES = `
Examples:
  $ customer-mirror sandbox --write-config customer-mirror.yaml
      three organizations of 1,050 customers, and a configuration that mirrors them
  $ customer-mirror sandbox --customers 2500,1050,40 --rate-limit 60
      lists of different lengths, and no more than a request a second
  $ customer-mirror sandbox --scenario insert-delete --seed 7
      a list that changes while it is read, in the same way for the same seed
`
