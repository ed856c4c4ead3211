import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { measureExports, measureStartup } from './commands.ts'
import { briefly, FULL, groupsOf, mostCustomers, QUICK, type Sizes } from './groups.ts'
import { describeMachine } from './measure.ts'
import type { Group } from './members.ts'
import { measureQuick } from './quick.ts'
import { aligned, groupTable, verdictTable } from './report.ts'
import type { GroupResult } from './results.ts'
import type { HowToRun } from './run-program.ts'
import { createStage, type OnRun, runRounds } from './stage.ts'
import { holdingFor, verdicts } from './targets.ts'
import { equipped, findStarters, type Found, toolsGroup } from './tools.ts'

/** Where the results and the talk go. */
export type Output = { stdout: Writer; stderr: Writer }
type Writer = { write(text: string): unknown }

/** What is measured and how often; `folder` is on the disk to measure. */
type Plan = HowToRun & {
  sizes: Sizes
  runs: number
  folder: string
  /** Names of groups; all of them when there are none. */
  only: readonly string[]
  /** Leave out what no target depends on. */
  brief: boolean
  /** The Pythons to look for public tools in; none where these are not wanted. */
  tools: readonly string[]
  /** What this machine has for members that need more than the benchmark's own Node. */
  found: Found
}

/** Measures everything, prints it, and returns the exit code: 1 when a ratio is more than twice as bad as its target. */
export async function runBench(args: readonly string[], output: Output): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  if (values.help) {
    output.stdout.write(HELP)
    return 0
  }
  const { only = [] } = values
  const unknown = only.find((name) => !GROUP_NAMES.some((known) => known === name))
  const runs = Number(values.runs ?? (values.quick ? 3 : 5))
  if (unknown !== undefined || !Number.isSafeInteger(runs) || runs < 1) {
    output.stderr.write(unknown === undefined ? '--runs must be a whole number from 1 up\n' : `no group "${unknown}"\n`)
    return 2
  }
  const folder = await mkdtemp(join(values.folder ?? tmpdir(), 'customer-mirror-bench-'))
  try {
    const sizes = values.quick ? QUICK : FULL
    const { python = ['python3'], profile: profileFolder } = values
    const brief = values.quick === true && only.length === 0
    const tools = values.tools ? python : []
    const machine = describeMachine(folder)
    output.stdout.write(`${aligned(Object.entries(machine))}\n`)
    const found = await findStarters(python, process.env['PATH'] ?? '')
    const results = await measure({ sizes, runs, folder, only, brief, tools, found, profileFolder }, output)
    const { holding, tooLarge } = holdingFor(mostCustomers(sizes))
    const judged = verdicts(results, holding)
    if (judged.length > 0) output.stdout.write(verdictTable(judged, tooLarge))
    if (values.quick) output.stdout.write(`\n${ABOUT_QUICK}`)
    if (values.json !== undefined) {
      const notJudged = tooLarge.map(({ title }) => title)
      const document = { schemaVersion: 1, machine, sizes, runs, groups: results, targets: judged, notJudged }
      await writeFile(values.json, `${JSON.stringify(document, null, 2)}\n`)
    }
    const failed = judged.filter(({ kind, farOutside }) => kind === 'ratio' && farOutside)
    for (const { title } of failed) output.stderr.write(`Worse than twice its target: ${title}.\n`)
    return failed.length === 0 ? 0 : 1
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Runs the groups of a plan one after the other, and prints each when it is done. */
async function measure(plan: Plan, { stdout, stderr }: Output): Promise<GroupResult[]> {
  const { sizes, runs, folder, only, brief, tools, found } = plan
  const stage = createStage(folder, plan)
  const results: GroupResult[] = []
  const isWanted = ({ name }: { name: string }) => only.length === 0 || only.includes(name)
  const say: OnRun = ({ group, member, round, runs: of }) => {
    stderr.write(`${group}: ${member} (${round} of ${of})\n`)
  }
  const finish = (result: GroupResult) => {
    results.push(result)
    stdout.write(`${groupTable(result, results)}\n`)
  }
  const run = async (group: Group) => {
    const rounds = (brief ? group.runsInBrief : undefined) ?? runs
    finish(await runRounds(equipped(group, found), stage, rounds, say))
  }
  const groups = groupsOf(sizes).filter(isWanted)
  const dataset = { organizations: 1, customers: sizes.customers }
  try {
    if (isWanted({ name: 'startup' })) finish(await measureStartup(stage, { folder, dataset, runs }))
    if (isWanted({ name: 'quick-runs' })) finish(measureQuick(sizes))
    for (const group of brief ? briefly(groups) : groups) await run(group)
    if (!brief && isWanted({ name: 'exports' })) {
      const most = sizes.large?.one ?? dataset
      finish(await measureExports(stage, { folder, dataset: most, runs, python: found.Python }))
    }
    if (tools.length > 0) {
      const { group, notes } = await toolsGroup(dataset, tools)
      finish({ ...(await runRounds(group, stage, runs, say)), notes })
    }
  } finally {
    await stage.clear()
  }
  return results
}

const ABOUT_QUICK = `With so few customers, starting up is a larger part of everything than in the full benchmark.
What counts here is what is missed by far: by more than twice.
`

const OPTIONS = {
  quick: { type: 'boolean' },
  runs: { type: 'string' },
  only: { type: 'string', multiple: true },
  json: { type: 'string' },
  folder: { type: 'string' },
  tools: { type: 'boolean' },
  python: { type: 'string', multiple: true },
  profile: { type: 'string' },
  help: { type: 'boolean' },
} as const

/** `tools` goes with the option of that name, for a run of nothing else. */
const GROUP_NAMES = [
  'startup',
  'quick-runs',
  'whole',
  'night',
  'load',
  'latency',
  'gzip',
  'by-hand',
  'postgres',
  'million',
  'organizations',
  'exports',
  'tools',
] as const

const HELP = `npm run bench -- [options]

  --quick          20,000 customers instead of 100,000 and a million, and only what targets depend on, whole commands
                   once; about a minute and a half
  --only GROUP     all of one group, may be repeated:
                   ${GROUP_NAMES.join(', ')}
  --runs N         rounds of each group; 5, and 3 with --quick
  --json FILE      everything that was measured
  --folder FOLDER  where the files go; must be on the disk to measure
  --tools          public tools as well, where they are installed
  --python FILE    the Python for the program by hand, instead of python3 on the PATH, and to look for tools in;
                   may be repeated
  --profile FOLDER CPU profiles of the program
  --curves         write their part of docs/explain/performance.md instead; --output FILE for another place, and --size N, which
                   may be repeated, for other numbers of customers
  --scale          write its part of that page, with a PostgreSQL that it starts
`
