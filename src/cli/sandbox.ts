import { once } from 'node:events'
import { Command, type CommandUnknownOpts, InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { durationArgument, wholeNumber } from './command.ts'
import { type Io, screenOf } from './io.ts'
import { configOption, grouped, hanging, print, say } from './output/say.ts'
import { didYouMean } from '../config/suggestion.ts'
import { LARGE_PAGES } from '../service/listing.ts'
import { type RateLimitRule, type Sandbox, startSandbox, writeConfig } from '../service/sandbox.ts'
import { SCENARIOS } from '../service/scenarios/scenarios.ts'
import {
  DEFAULT_PRESET,
  PRESETS,
  recipeOf,
  SECRET_ENCODINGS,
  SIGNATURE_ENCODINGS,
  templateProblem,
  TIMESTAMP_FORMS,
} from '../signing/signing.ts'
import { durationMs } from '../time/durations.ts'

/** `customer-mirror sandbox`: runs the service on this machine, with made-up customers, until it is stopped. */
export function sandboxCommand({ signal, stdout, stderr }: Io): CommandUnknownOpts {
  return new Command('sandbox')
    .option('--host <address>', 'address to listen at', '127.0.0.1')
    .option('--port <number>', 'port to listen at; 0 takes any free one', wholeNumber({ least: 0, most: 65_535 }), 4010)
    .option('--seed <text>', 'the same seed gives the same customers, keys and secrets', '1')
    .option(
      '--organizations <count>',
      'how many organizations (default: 3, or as many as --customers lists)',
      wholeNumber({ least: 1, most: 1000 }),
    )
    .option('--customers <counts>', 'customers of each: a number, or a list: 2500,1050,40 (default: 1050)', readCounts)
    .option('--latency <time>', 'delay every answer: 50ms, 2s', LATENCY)
    .option('--rate-limit <limits>', 'requests: 60 (a minute) or 8/5s; for one of them: globex=8/5s', readRateLimits)
    .addOption(
      new Option('--large-pages <answer>', 'for per_page over 100: answer 422, the first 100 rows, or as requested')
        .choices(LARGE_PAGES)
        .default('refuse' as const),
    )
    .option('--scenario <name>', 'how the service misbehaves (default: still)')
    .option('--list-scenarios', 'describe every scenario, and end')
    .option('--forbid <organizations>', 'organizations whose plan answers 403: acme,globex', readList)
    .addOption(
      new Option('--signing <recipe>', 'a preset, or a template with {ts}')
        .argParser(readTemplate)
        .default(STANDARD.template, DEFAULT_PRESET),
    )
    .addOption(
      new Option('--signature-encoding <name>', 'how signatures are written')
        .choices(SIGNATURE_ENCODINGS)
        .default(STANDARD.encoding),
    )
    .option('--signature-prefix <text>', 'text before a signature: sha256=', STANDARD.prefix)
    .addOption(
      new Option('--secret-encoding <name>', 'how secrets are decoded')
        .choices(SECRET_ENCODINGS)
        .default(STANDARD.secretEncoding),
    )
    .addOption(
      new Option('--timestamp <form>', 'how the time is written').choices(TIMESTAMP_FORMS).default(STANDARD.timestamp),
    )
    .option('--explain-401', 'answer a wrong signature with the string that should have been signed')
    .option('--write-config <file>', 'write a configuration that mirrors the sandbox')
    .addHelpText('after', EXAMPLES)
    .action(async ({ rateLimit, forbid, latency, writeConfig: file, listScenarios, ...options }) => {
      if (listScenarios) return print(stdout, scenarioList(screenOf(stdout)?.columns))
      const { signing: template, signatureEncoding: encoding, signaturePrefix: prefix, ...rest } = options
      const { secretEncoding, timestamp } = rest
      const sandbox = await startSandbox({
        ...rest,
        recipe: { ...STANDARD, template, encoding, prefix, secretEncoding, timestamp },
        rateLimits: rateLimit,
        forbidden: forbid,
        latencyMs: latency,
      })
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

const STANDARD = recipeOf(DEFAULT_PRESET)

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

function readList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

function readRateLimits(text: string, before: RateLimitRule[] = []): RateLimitRule[] {
  return [...before, ...readList(text).map(readRateLimit)]
}

function readRateLimit(text: string): RateLimitRule {
  const [, organization, requests, count = '1', unit = 'm'] = RATE_LIMIT.exec(text) ?? []
  const windowMs = durationMs(count + unit) ?? 0
  if (Number(requests) > 0 && windowMs > 0) return { organization, requests: Number(requests), windowMs }
  throw new InvalidArgumentError(
    `"${text}" is not a limit. Give requests per minute (60) or per time (8/5s); for one organization, put its name first (globex=8/5s).`,
  )
}

/** The template of the string to sign: a preset's name, or a template in which `\n` is a line break. */
function readTemplate(text: string): string {
  const preset = Object.entries(PRESETS).find(([name]) => name === text)
  if (preset) return preset[1]
  if (!text.includes('{')) {
    const names = Object.keys(PRESETS)
    throw new InvalidArgumentError(
      `There is no preset "${text}"${didYouMean(text, names)}. There are ${names.join(', ')}.`,
    )
  }
  const template = text.replaceAll(String.raw`\n`, '\n')
  const problem = templateProblem(template)
  if (problem !== undefined) throw new InvalidArgumentError(`The template: ${problem}.`)
  return template
}

const RATE_LIMIT = /^(?:([^=]+)=)?(\d{1,9})(?:\/(\d{1,6})?(ms|s|m|h))?$/

const LATENCY = durationArgument({ most: '10m', examples: '50ms or 2s' })

const EXAMPLES = `
Examples:
  $ customer-mirror sandbox --write-config customer-mirror.yaml
      three organizations of 1,050 customers, and a configuration that mirrors them
  $ customer-mirror sandbox --customers 2500,1050,40 --rate-limit globex=8/5s
      lists of different lengths; the second is throttled
  $ customer-mirror sandbox --scenario insert-delete --seed 7
      a list that changes while it is read, in the same way for the same seed
`
