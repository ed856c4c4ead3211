import { UsageError } from '../errors/errors.ts'
import { command, JSON_OPTION, limitOption, requireKnown, runNumber, show, withMirror } from './command.ts'
import { screenOf, type Io } from './io.ts'
import { describeRun, runsTable } from './output/run-words.ts'

/** `customer-mirror runs`: lists the latest runs. */
export function runsCommand(io: Io) {
  return command('runs', 'list the latest runs, newest first', EXAMPLES)
    .argument('[organization]', 'id of one organization')
    .option(...JSON_OPTION)
    .addOption(limitOption(20))
    .enablePositionalOptions()
    .addCommand(runsShowCommand(io))
    .action(async (organization, { config, json, limit }) => {
      const runs = await withMirror(config, async (mirror, known) => {
        await requireKnown(organization, mirror, known)
        return mirror.listRuns({ organization, limit })
      })
      const { toJson } = await import('../model/report.ts')
      const documents = runs.map((run) => {
        return { id: run.runId, ...toJson(run), trigger: run.trigger, warnings: run.warnings }
      })
      const table = runs.length === 0 ? 'No runs yet.\n' : runsTable(runs, screenOf(io.stdout), { withStart: true })
      show(io, json, { document: { runs: documents }, table })
    })
}

const EXAMPLES = `
Examples:
  $ customer-mirror runs
      the last twenty runs of every organization
  $ customer-mirror runs acme --limit 100 --json
      the last hundred of acme, as JSON
  $ customer-mirror runs show 12
      one run, and what its reasons mean
`

/** `customer-mirror runs show`: explains one run, what its scan proves, and what each reason means. */
function runsShowCommand(io: Io) {
  return command('show', 'explain what one run did, what its scan proves, and what every reason means', SHOW_EXAMPLES)
    .argument('<id>', 'number of the run', runNumber)
    .option(...JSON_OPTION)
    .action(async (id, _own, self) => {
      // Options before the subcommand are parsed by its parent.
      const { config, json } = self.optsWithGlobals()
      const [run, waiting] = await withMirror(config, async (mirror) => [
        await mirror.findRun(id),
        (await mirror.listHeldRemovals()).find(({ runId }) => runId === id),
      ])
      if (run === undefined) throw new UsageError(`There is no run ${id}. 'customer-mirror runs' lists them.`)
      const { toJson } = await import('../model/report.ts')
      const { runId, trigger, warnings, certificate = null } = run
      show(io, json, {
        document: { run: { id: runId, ...toJson(run), trigger, warnings, certificate } },
        text: describeRun(run, { waiting: waiting?.held ?? 0, config }),
      })
    })
}

const SHOW_EXAMPLES = `
Examples:
  $ customer-mirror runs show 12
  $ customer-mirror runs show 12 --json
`
