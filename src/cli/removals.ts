import { Command } from '@commander-js/extra-typings'
import type { HeldRemovals } from '../model/mirror.ts'
import { say, jsonDocument, print } from './output/say.ts'
import { runNumber, namedConfig } from './arguments.ts'
import { screenOf, type Io, type Screen } from './io.ts'
import { isoTime } from '../time/moments.ts'
import { withMirror, withMirrorToChange } from './with-mirror.ts'
import { count, moment } from './output/wording.ts'
import { renderTable } from './output/table.ts'

/** `customer-mirror removals`: lists, approves or discards removals that were held back. */
export function removalsCommand(io: Io) {
  return new Command('removals')
    .description('list, approve or discard removals that were too many at once')
    .addCommand(listCommand(io))
    .addCommand(decisionCommand(io, 'approve'))
    .addCommand(decisionCommand(io, 'discard'))
    .addHelpText('after', EXAMPLES)
}

function listCommand(io: Io) {
  return new Command('list')
    .description('list the runs that hold removals back')
    .option('-c, --config <file>', 'configuration file')
    .option('--json', 'print one JSON document')
    .addHelpText('after', LIST_EXAMPLES)
    .action(async ({ config, json }) => {
      const held = await withMirror(config, (mirror) => mirror.listHeldRemovals())
      if (json) {
        const documents = held.map(({ runId, startedAtMs, ...run }) => ({
          run: runId,
          ...run,
          at: isoTime(startedAtMs),
        }))
        io.stdout.write(jsonDocument({ removals: documents }))
      } else {
        print(io.stdout, held.length === 0 ? 'No removals are held back.\n' : asTable(held, screenOf(io.stdout)))
      }
    })
}

function decisionCommand(io: Io, decision: 'approve' | 'discard') {
  const does = {
    approve: 'mark the customers that a run held back as removed',
    discard: 'discard the removals that a run held back',
  }
  return new Command(decision)
    .description(does[decision])
    .argument('<run>', 'number of the run, as shown in the list', runNumber)
    .option('-c, --config <file>', 'configuration file')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `\nExamples:\n  $ customer-mirror removals ${decision} 12\n  $ customer-mirror removals ${decision} 12 --config production.yaml\n`,
    )
    .action(async (run, { config: file, json }) => {
      const config = await namedConfig(file)
      const decided = await withMirrorToChange(config, (mirror) =>
        decision === 'approve' ? mirror.approveRemovals(run, Date.now()) : mirror.discardRemovals(run),
      )
      const outcome = decision === 'approve' ? 'marked as removed' : 'no longer held; they stay unchanged'
      const said = `Run ${run}: ${count(decided, 'customer')} ${outcome}.\n`
      if (json) io.stdout.write(jsonDocument({ run, decision, customers: decided }))
      else say(io.stdout, said)
    })
}

function asTable(held: readonly HeldRemovals[], screen: Screen | undefined): string {
  return renderTable(
    ['run', 'organization', 'held', 'at'],
    held.map(({ runId, organization, held: number, startedAtMs }) => [
      `#${runId}`,
      organization,
      number,
      moment(startedAtMs),
    ]),
    screen,
  )
}

const EXAMPLES = `
Examples:
  $ customer-mirror removals list
      the runs that hold removals back
  $ customer-mirror removals approve 12
      mark the customers that run 12 held back as removed
`

const LIST_EXAMPLES = `
Examples:
  $ customer-mirror removals list
  $ customer-mirror removals list --json
`
