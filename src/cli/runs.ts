import { command, JSON_OPTION, limitOption, requireKnown, runNumber, show, withMirror } from './command.ts'
import { type Io, type Screen, screenOf } from './io.ts'
import { describeRun, runsTable } from './output/run-words.ts'
import { moment, say } from './output/say.ts'
import { renderTable } from './output/table.ts'
import { UsageError } from '../errors/errors.ts'
import type { StoredReject } from '../model/mirror.ts'
import { toJson } from '../model/report.ts'
import { isoTime } from '../time/moments.ts'

/** `customer-mirror runs`: lists the latest runs. */
export function runsCommand(io: Io) {
  return command('runs', EXAMPLES)
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
  return command('show', SHOW_EXAMPLES)
    .description('explain what one run did, what its scan proves, and what every reason means')
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

/** `customer-mirror rejects`: received records that are no valid customers, and why. */
export function rejectsCommand(io: Io) {
  return command('rejects', REJECTS_EXAMPLES)
    .argument('[organization]', 'id of one organization')
    .option('--json', 'print one JSON document, the records as received included')
    .addOption(limitOption(50))
    .action(async (organization, { config, json, limit }, self) => {
      const listed = await withMirror(config, async (mirror, known) => {
        await requireKnown(organization, mirror, known)
        // One more shows whether there are more.
        return mirror.listRejects({ organization, limit: limit + 1 })
      })
      const rejects = listed.slice(0, limit)
      const table = rejects.length === 0 ? 'No open rejects.\n' : rejectsTable(rejects, screenOf(io.stdout))
      show(io, json, { document: { rejects: rejects.map(rejectAsJson) }, table })
      if (listed.length > limit && self.getOptionValueSource('limit') === 'default')
        say(io.stderr, `These are the newest ${limit}. For more of them use --limit.\n`)
    })
}

function rejectAsJson({ runId, recordId, seenAtMs, payload, ...reject }: StoredReject) {
  return { ...reject, run: runId, recordId, seenAt: isoTime(seenAtMs), payload: JSON.parse(payload) }
}

function rejectsTable(rejects: readonly StoredReject[], screen: Screen | undefined): string {
  return renderTable(
    ['organization', 'record', 'run', 'page', 'position', 'seen', 'reasons'],
    rejects.map(({ organization, recordId, runId, page, position, seenAtMs, reasons }) => [
      organization,
      recordId ?? '(no readable id)',
      `#${runId}`,
      page,
      position,
      moment(seenAtMs),
      reasons.map(({ field, message }) => (field === '' ? message : `${field} ${message}`)).join('; '),
    ]),
    screen,
  )
}

const REJECTS_EXAMPLES = `
Examples:
  $ customer-mirror rejects
      the newest records that keep being rejected
  $ customer-mirror rejects acme --json
      those of acme with the records as they were received, as JSON
`
