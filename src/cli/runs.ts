import { moment, say, show, type Table } from './output/print.ts'
import { argument, command, type Io, jsonCommand, positive, runNumberIn } from './command.ts'
import { clocks, withMirror } from './opening.ts'
import { describeRun, runsTable } from './output/run-words.ts'
import { UsageError } from '../errors/errors.ts'
import type { StoredReject } from '../model/mirror.ts'
import { asItStands, type Report, toJson } from '../model/report.ts'
import { isoTime } from '../time/moments.ts'

export function runsCommand(io: Io) {
  return jsonCommand('runs', {
    runs: 'the last twenty runs of every organization',
    'runs acme --limit 100 --json': 'the last hundred of acme, as JSON',
    'runs show 12': 'one run, and what its reasons mean',
  })
    .argument('[organization]', 'id of one organization')
    .option('--limit <number>', 'how many at most', positive, 20)
    .enablePositionalOptions()
    .addCommand(runsShowCommand(io))
    .action(async (organization, { config, json, limit }) => {
      const runs = await withMirror({ config, organization }, async (mirror) => {
        const killed = await mirror.listKilled(clocks())
        return (await mirror.listRuns({ organization, limit })).map((run) => asItStands(run, killed))
      })
      const table = { ...runsTable(runs, { withStart: true }), none: 'No runs yet.\n' }
      show(io, json, { document: { runs: runs.map(runAsJson) }, table })
    })
}

function runsShowCommand(io: Io) {
  return jsonCommand('show', { 'runs show 12': '' })
    .description('explain what one run did, what its scan proves, and what every reason means')
    .argument('<id>', 'number of the run', argument(runNumberIn, 'the number of a run, such as 12'))
    .action(async (id, _own, self) => {
      // Options before the subcommand are parsed by its parent.
      const { config, json } = self.optsWithGlobals()
      const [killed, found, waiting] = await withMirror({ config }, async (mirror) => [
        await mirror.listKilled(clocks()),
        await mirror.findRun(id),
        (await mirror.listHeldRemovals()).find(({ runId }) => runId === id),
      ])
      if (found === undefined) throw new UsageError(`There is no run ${id}. 'customer-mirror runs' lists them.`)
      const run = asItStands(found, killed)
      const text = describeRun(run, waiting?.held ?? 0, config)
      show(io, json, { document: { run: { ...runAsJson(run), certificate: run.certificate } }, text })
    })
}

function runAsJson(run: Report) {
  return { id: run.runId, ...toJson(run), trigger: run.trigger, warnings: run.warnings }
}

export function rejectsCommand(io: Io) {
  return command('rejects', {
    rejects: 'the newest records that keep being rejected',
    'rejects acme --json': 'those of acme with the records as they were received, as JSON',
  })
    .argument('[organization]', 'id of one organization')
    .option('--json', 'print one JSON document, the records as received included')
    .option('--limit <number>', 'how many at most', positive, 50)
    .action(async (organization, { config, json, limit }, self) => {
      // One more shows whether there are more.
      const asked = { organization, limit: limit + 1 }
      const listed = await withMirror({ config, organization }, (mirror) => mirror.listRejects(asked))
      const rejects = listed.slice(0, limit)
      show(io, json, { document: { rejects: rejects.map(rejectAsJson) }, table: rejectsTable(rejects) })
      if (listed.length > limit && self.getOptionValueSource('limit') === 'default')
        say(io.stderr, `These are the newest ${limit}. For more of them use --limit.\n`)
    })
}

function rejectAsJson({ runId, recordId, seenAtMs, payload, ...reject }: StoredReject) {
  return { ...reject, run: runId, recordId, seenAt: isoTime(seenAtMs), payload: JSON.parse(payload) }
}

function rejectsTable(rejects: readonly StoredReject[]): Table {
  const head = ['organization', 'record', 'run', 'page', 'position', 'seen', 'reasons']
  const rows = rejects.map(({ organization, recordId, runId, page, position, seenAtMs, reasons }) => {
    const record = recordId ?? '(no readable id)'
    const why = reasons.map(({ field, message }) => (field === '' ? message : `${field} ${message}`))
    return [organization, record, `#${runId}`, page, position, moment(seenAtMs), why.join('; ')]
  })
  return { head, rows, none: 'No open rejects.\n' }
}
