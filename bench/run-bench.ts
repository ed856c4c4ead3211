import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { readArguments } from './arguments.ts'
import { briefly, FULL, groupsOf, QUICK } from './groups.ts'
import { describeMachine } from './measure.ts'
import { writeCurves } from './performance-page.ts'
import { measureQuick } from './quick.ts'
import { measureServing } from './serving.ts'
import { aligned, groupTable, type Output, verdictTable } from './report.ts'
import { equipped, findRequirements } from './requirements.ts'
import type { GroupResult } from './results.ts'
import { createStage, type OnRun, runRounds } from './stage.ts'
import { holdingFor, verdicts } from './targets.ts'

/**
 * Measures everything, prints it, and returns the exit code: 1 when a ratio is more than twice as bad as its target. With `--curves`
 * it writes the tables of the page on performance instead. Throws a UsageError for arguments that make no sense.
 */
export async function runBench(args: readonly string[], output: Output): Promise<number> {
  const {
    only,
    quick: isQuick,
    python,
    runs: asked,
    ...values
  } = readArguments(args, { options: OPTIONS, shape, usage: HELP })
  const runs = asked ?? (isQuick ? 2 : 5)
  if (values.help) {
    output.stdout.write(HELP)
    return 0
  }
  const folder = await mkdtemp(join(values.folder, 'customer-mirror-bench-'))
  const stage = createStage(folder)
  try {
    if (values.curves) {
      await writeCurves({ runs, folder, stage, output })
      return 0
    }
    const sizes = isQuick ? QUICK : FULL
    const isBrief = isQuick && only.length === 0
    output.stdout.write(`${aligned(Object.entries(describeMachine(folder)))}\n`)
    const results: GroupResult[] = []
    const finish = (result: GroupResult) => {
      results.push(result)
      output.stdout.write(`${groupTable(result, results)}\n`)
    }
    const say: OnRun = ({ group, member, round, runs: of }) => {
      output.stderr.write(`${group}: ${member} (${round} of ${of})\n`)
    }
    const isWanted = ({ name }: { name: string }) => only.length === 0 || only.includes(name)
    const wanted = groupsOf(sizes).filter(isWanted)
    const groups = isBrief ? briefly(wanted) : wanted
    // To build it takes a minute.
    const isGoNeeded = groups.some(({ members }) => members.some(({ needs }) => needs === 'Go'))
    const found = await findRequirements(python, process.env['PATH'] ?? '', isGoNeeded ? folder : undefined)
    if (isWanted({ name: QUICK_RUNS })) finish(measureQuick(sizes))
    if (isWanted({ name: SERVE })) finish(await measureServing(sizes, { runs, folder }))
    for (const group of groups) {
      const rounds = (isBrief ? group.runsInBrief : undefined) ?? runs
      finish(await runRounds(equipped(group, found), stage, rounds, say))
    }
    const judged = verdicts(results, holdingFor(sizes.large?.one.customers ?? sizes.customers))
    if (judged.length > 0) output.stdout.write(verdictTable(judged))
    if (isQuick) output.stdout.write(`\n${ABOUT_QUICK}`)
    const failed = judged.filter(({ kind, farOutside }) => kind === 'ratio' && farOutside)
    for (const { title } of failed) output.stderr.write(`Worse than twice its target: ${title}.\n`)
    return failed.length === 0 ? 0 : 1
  } finally {
    await stage.clear()
    await rm(folder, { recursive: true, force: true })
  }
}

const ABOUT_QUICK = `With so few customers, starting up is a larger part of everything than in the full benchmark.
What counts here is what is missed by far: by more than twice.
`

const OPTIONS = {
  quick: { type: 'boolean' },
  runs: { type: 'string' },
  only: { type: 'string', multiple: true },
  folder: { type: 'string' },
  python: { type: 'string' },
  curves: { type: 'boolean' },
  help: { type: 'boolean' },
} as const

const [QUICK_RUNS, SERVE] = ['quick-runs', 'serve']
const GROUP_NAMES = [QUICK_RUNS, SERVE, ...groupsOf(FULL).map(({ name }) => name)]

const shape = z.object({
  quick: z.boolean().default(false),
  runs: z.coerce.number().int().min(1).optional(),
  only: z.array(z.enum(GROUP_NAMES)).default([]),
  folder: z.string().default(tmpdir()),
  python: z.string().default('python3'),
  curves: z.boolean().default(false),
  help: z.boolean().default(false),
})

const HELP = `npm run bench -- [options]

  --quick          20,000 customers instead of 100,000 and a million, and only what targets depend on, whole commands
                   once; about a minute
  --only GROUP     all of one group, may be repeated:
                   ${GROUP_NAMES.join(', ')}
  --runs N         rounds of each group; 5, and 2 with --quick
  --folder FOLDER  where the files go; must be on the disk to measure
  --python FILE    the Python for the program by hand, instead of python3 on the PATH
  --curves         write the tables of docs/explain/performance.md instead
`
