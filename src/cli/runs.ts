import { Command } from '@commander-js/extra-typings'
import { screenOf, type Io } from './io.ts'
import { limitOption, runNumber } from './arguments.ts'
import { jsonDocument, say, print } from './output/say.ts'
import { requireKnown, withMirror } from './with-mirror.ts'
import { UsageError } from '../errors/errors.ts'
import { runsTable } from './output/runs-table.ts'

/** `customer-mirror runs`: lists the latest runs. */
export function runsCommand(io: Io) {
  return new Command('runs')
    .description('list the latest runs, newest first')
    .argument('[organization]', 'id of one organization')
    .option('-c, --config <file>', 'configuration file')
    .option('--json', 'print one JSON document')
    .addOption(limitOption(20))
    .enablePositionalOptions()
    .addCommand(runsShowCommand(io))
    .addHelpText('after', EXAMPLES)
    .action(async (organization, { config, json, limit }) => {
      const runs = await withMirror(config, async (mirror, known) => {
        await requireKnown(organization, mirror, known)
        return mirror.listRuns({ organization, limit })
      })
      if (json) {
        const { toJson } = await import('../model/report.ts')
        const documents = runs.map((run) => ({
          id: run.runId,
          ...toJson(run),
          trigger: run.trigger,
          warnings: run.warnings,
        }))
        io.stdout.write(jsonDocument({ runs: documents }))
      } else {
        print(
          io.stdout,
          runs.length === 0 ? 'No runs yet.\n' : runsTable(runs, screenOf(io.stdout), { withStart: true }),
        )
      }
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
  return new Command('show')
    .description('explain what one run did, what its scan proves, and what every reason means')
    .argument('<id>', 'number of the run', runNumber)
    .option('-c, --config <file>', 'configuration file')
    .option('--json', 'print one JSON document')
    .addHelpText('after', SHOW_EXAMPLES)
    .action(async (id, _own, command) => {
      // Options before the subcommand are parsed by its parent.
      const { config, json } = command.optsWithGlobals()
      const [run, waiting] = await withMirror(config, async (mirror) => [
        await mirror.findRun(id),
        (await mirror.listHeldRemovals()).find(({ runId }) => runId === id),
      ])
      if (run === undefined) throw new UsageError(`There is no run ${id}. 'customer-mirror runs' lists them.`)
      if (json) {
        const { toJson } = await import('../model/report.ts')
        const { runId, trigger, warnings, certificate = null } = run
        io.stdout.write(jsonDocument({ run: { id: runId, ...toJson(run), trigger, warnings, certificate } }))
      } else {
        const { describeRun } = await import('./output/describe-run.ts')
        say(io.stdout, describeRun(run, { waiting: waiting?.held ?? 0, config }))
      }
    })
}

const SHOW_EXAMPLES = `
Examples:
  $ customer-mirror runs show 12
  $ customer-mirror runs show 12 --json
`
