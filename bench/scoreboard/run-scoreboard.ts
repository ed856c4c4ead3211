import { z } from 'zod'
import type { OpenContender } from './contender.ts'
import { readArguments } from '../arguments.ts'
import { ourScan } from './our-scan.ts'
import { plainLoop } from './plain-loop.ts'
import { NIGHTS, playScenario, type PlaySettings, scaleOf } from './play-scenario.ts'
import { expectationOf, type Line, priceList, scoreOf, scoreTable } from './score.ts'
import { scenarioNamed, SCENARIOS } from '../../src/service/scenarios/scenarios.ts'

export type Contenders = { loop: OpenContender; scan: OpenContender }

type Output = { write: (text: string) => unknown }

/**
 * Plays every scenario with a plain page loop and with our scan, and prints what each of them lost. Resolves to 1 when our
 * scan did anything it must never do, and to 0 otherwise. Throws a UsageError for arguments that make no sense.
 */
export async function runScoreboard(
  args: readonly string[],
  { stdout, stderr }: { stdout: Output; stderr: Output },
  contenders: Contenders = { loop: plainLoop, scan: ourScan },
): Promise<0 | 1> {
  const { only: named, ...settings } = readArguments(args, { options: OPTIONS, shape, usage: USAGE })
  const only = (named ?? SCENARIOS.map(({ name }) => name)).map((name) => scenarioNamed(name).name)
  const lines: Line[] = []
  for (const [index, scenario] of only.entries()) {
    stderr.write(`${index + 1}/${only.length} ${scenario}\n`)
    lines.push(await lineOf(scenario, contenders, settings))
  }
  const violations = lines.flatMap(({ scenario, scan, expectation }) =>
    [...scan.faults, ...(expectation?.shortfalls ?? [])].map((fault) => `${scenario}, ${fault}`),
  )
  const deceived = lines.filter(({ loop }) => loop.deceived).length
  stdout.write(`${scoreTable(lines)}\n`)
  const prices = lines.flatMap(({ scenario, expectation }) => (expectation ? [priceList(scenario, expectation)] : []))
  const summary = [deceit(deceived, lines.length), ...prices, `Our scan: ${verdict(violations)}`]
  stdout.write(`\n${LEGEND}\n\n${summary.join('\n')}\n`)
  return violations.length === 0 ? 0 : 1
}

async function lineOf(scenario: string, contenders: Contenders, settings: PlaySettings): Promise<Line> {
  const loop = await playScenario(scenario, contenders.loop, settings)
  const scan = await playScenario(scenario, contenders.scan, settings)
  const { customers } = scaleOf(scenario, settings)
  const expectation = settings.customers === undefined ? expectationOf(scenario, { loop, scan }) : undefined
  return { scenario, customers, loop: scoreOf(loop), scan: scoreOf(scan), expectation }
}

function deceit(scenarios: number, all: number): string {
  return `The plain loop lost or wrongly removed customers and reported success in ${scenarios} of ${all} scenarios.`
}

function verdict(violations: readonly string[]): string {
  if (violations.length === 0) return '0 lost, 0 wrongly removed, never proven or settled against its definition'
  return ['it did what it must never do:', ...violations.map((violation) => `  ${violation}`)].join('\n')
}

const OPTIONS = {
  customers: { type: 'string' },
  concurrency: { type: 'string', default: '4' },
  seed: { type: 'string', default: '1' },
  only: { type: 'string', multiple: true },
} as const

const shape = z.object({
  customers: z.coerce.number().int().min(1).max(1_000_000).optional(),
  concurrency: z.coerce.number().int().min(1).max(32),
  seed: z.string(),
  only: z.array(z.string()).optional(),
})

const USAGE = `Usage: npm run scoreboard -- [--customers N] [--seed 1] [--concurrency 4] [--only NAME]...`

const LEGEND = `Each reads the list on ${NIGHTS} nights, fewer once it has grown tenfold, in a sandbox of its own that starts out the same.
A customer counts once, however many nights they were lost.
lost: listed from the first request of a night to the last answer, and not active in the copy afterwards.
wrongly removed: taken out of the copy although listed at that moment.
requests: over all nights, searches included; × loop: how many times those of the loop.
proven: every customer listed from the first request of a night to the last answer was read. settled: every one of
them who kept their place among the others that kept theirs, as long as a customer shared by two pages did.
missing as said: not in the copy, and the run itself reports this: another night may read them, or they are never sent.`
