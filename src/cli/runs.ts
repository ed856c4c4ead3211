import { Command } from '@commander-js/extra-typings'
import { screenOf, type Io } from './io.ts'
import { runsShowCommand } from './runs-show.ts'
import { limitOption } from './arguments/limit-option.ts'
import { jsonDocument } from './output/json-document.ts'
import { requireKnown, withMirror } from './with-mirror.ts'

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
        const { toJson } = await import('../report.ts')
        const documents = runs.map((run) => ({
          id: run.runId,
          ...toJson(run),
          trigger: run.trigger,
          warnings: run.warnings,
        }))
        io.stdout.write(jsonDocument({ runs: documents }))
      } else {
        const { runsTable } = await import('./output/runs-table.ts')
        io.stdout.write(
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
