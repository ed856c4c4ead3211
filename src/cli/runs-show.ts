import { Command } from '@commander-js/extra-typings'
import { UsageError } from '../errors/errors.ts'
import type { Io } from './io.ts'
import { say } from './output/say.ts'
import { jsonDocument } from './output/json-document.ts'
import { withMirror } from './with-mirror.ts'
import { runNumber } from './arguments/run-number-argument.ts'

/** `customer-mirror runs show`: explains one run, what its scan proves, and what each reason means. */
export function runsShowCommand(io: Io) {
  return new Command('show')
    .description('explain what one run did, what its scan proves, and what every reason means')
    .argument('<id>', 'number of the run', runNumber)
    .option('-c, --config <file>', 'configuration file')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (id, _own, command) => {
      // Options before the subcommand are parsed by its parent.
      const { config, json } = command.optsWithGlobals()
      const [run, waiting] = await withMirror(config, async (mirror) => [
        await mirror.findRun(id),
        (await mirror.listHeldRemovals()).find(({ runId }) => runId === id),
      ])
      if (run === undefined) throw new UsageError(`There is no run ${id}. 'customer-mirror runs' lists them.`)
      if (json) {
        const { toJson } = await import('../report.ts')
        const { runId, trigger, warnings, certificate = null } = run
        io.stdout.write(jsonDocument({ run: { id: runId, ...toJson(run), trigger, warnings, certificate } }))
      } else {
        const { describeRun } = await import('./output/describe-run.ts')
        say(io.stdout, describeRun(run, { waiting: waiting?.held ?? 0, config }))
      }
    })
}

const EXAMPLES = `
Examples:
  $ customer-mirror runs show 12
  $ customer-mirror runs show 12 --json
`
