import { Command } from '@commander-js/extra-typings'
import { isoTime } from '../time/moments.ts'
import { command, JSON_OPTION, runNumber, show, withMirror, withMirrorToChange } from './command.ts'
import { screenOf, type Io } from './io.ts'
import { renderTable } from './output/table.ts'
import { count, moment } from './output/wording.ts'

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
  return command('list', 'list the runs that hold removals back', LIST_EXAMPLES)
    .option(...JSON_OPTION)
    .action(async ({ config, json }) => {
      const held = await withMirror(config, (mirror) => mirror.listHeldRemovals())
      const documents = held.map(({ runId, startedAtMs, ...run }) => {
        return { run: runId, ...run, at: isoTime(startedAtMs) }
      })
      const rows = held.map((run) => [`#${run.runId}`, run.organization, run.held, moment(run.startedAtMs)])
      const table =
        held.length === 0
          ? 'No removals are held back.\n'
          : renderTable(['run', 'organization', 'held', 'at'], rows, screenOf(io.stdout))
      show(io, json, { document: { removals: documents }, table })
    })
}

const DECISIONS = {
  approve: {
    does: 'mark the customers that a run held back as removed',
    done: 'marked as removed',
  },
  discard: {
    does: 'discard the removals that a run held back',
    done: 'no longer held; they stay unchanged',
  },
}

function decisionCommand(io: Io, decision: keyof typeof DECISIONS) {
  const { does, done } = DECISIONS[decision]
  const examples = ['', ' --config production.yaml'].map(
    (more) => `  $ customer-mirror removals ${decision} 12${more}\n`,
  )
  return command(decision, does, `\nExamples:\n${examples.join('')}`)
    .argument('<run>', 'number of the run, as shown in the list', runNumber)
    .option(...JSON_OPTION)
    .action(async (run, { config, json }) => {
      const customers = await withMirrorToChange(config, (mirror) =>
        decision === 'approve' ? mirror.approveRemovals(run, Date.now()) : mirror.discardRemovals(run),
      )
      const text = `Run ${run}: ${count(customers, 'customer')} ${done}.\n`
      show(io, json, { document: { run, decision, customers }, text })
    })
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
