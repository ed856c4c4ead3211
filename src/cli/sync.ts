import { Option } from '@commander-js/extra-typings'
import { describeError, isOurs } from '../errors/errors.ts'
import { command, logLevelOption, wholeNumber } from './command.ts'
import { exitCodeOf, exitCodeOfRuns, exitCodesText } from './exit-code.ts'
import { isTerminal, screenOf, type Io } from './io.ts'
import { exitCodeWithCopies, failedText, foundText, publishedText, whatToDo } from './output/advice.ts'
import { runsTable } from './output/run-words.ts'
import { jsonDocument, print, say } from './output/say.ts'
import type { SyncOptions } from './sync-organizations.ts'

/** `customer-mirror sync`: mirrors organizations now, without any queue. */
export function syncCommand(io: Io) {
  return command('sync', 'mirror organizations now, those named or all', EXAMPLES + exitCodesText())
    .argument('[organization...]', 'ids of organizations')
    .option('--json', 'print the reports as one JSON document, on one line for a file or a pipe')
    .option('--dry-run', 'read everything and report what would change, but write nothing')
    .option('--limit-pages <number>', 'stop after this many pages of each organization', wholeNumber({ least: 1 }))
    .addOption(
      new Option('--quick', 'only look for who came and who left, in a few requests; removes no customer').conflicts(
        'limitPages',
      ),
    )
    .addOption(logLevelOption('log JSON lines to stderr, and nothing else'))
    .action(async (ids, { logLevel, quick, ...asked }) => {
      const options = { ...asked, isPartial: quick }
      if (logLevel === undefined) return mirror(ids, options)
      // Loaded only by those who ask for a log. An error before the sync starts is logged as well.
      const { createLog } = await import('../machine/log.ts')
      const log = createLog({ level: logLevel, stream: io.stderr })
      await mirror(ids, { ...options, log }).catch((error: unknown) => {
        log.error({ error: describeError(error), ...(!isOurs(error) && { err: error }) }, 'sync failed')
        io.exitWith(exitCodeOf(error))
      })
    })

  async function mirror(ids: readonly string[], options: SyncOptions & { json?: true | undefined }): Promise<void> {
    const { syncOrganizations } = await import('./sync-organizations.ts')
    const synced = await syncOrganizations(ids, options, io)
    const { outcomes, published } = synced
    const reports = outcomes.map(({ report }) => report)
    if (options.json) {
      const { toJson } = await import('../model/report.ts')
      // A dry run is not stored: its number belongs to another run of the mirror.
      const runs = reports.map((report) => ({ ...toJson(report), ...(options.dryRun && { runId: null }) }))
      const document = { runs, ...(published !== undefined && { published }) }
      io.stdout.write(jsonDocument(document, { onOneLine: !isTerminal(io.stdout) }))
    } else {
      const where = options.dryRun ? 'Dry run: nothing was written.' : `Mirror: ${synced.mirrorFile}`
      print(io.stdout, `${runsTable(reports, screenOf(io.stdout))}\n${foundText(reports)}${where}\n`)
      if (published !== undefined) print(io.stdout, publishedText(published))
    }
    if (options.log === undefined)
      say(io.stderr, whatToDo(synced, options) + (published === undefined ? '' : failedText(published)))
    const code = exitCodeOfRuns(outcomes, synced.held)
    io.exitWith(published === undefined ? code : exitCodeWithCopies(code, published))
  }
}

const EXAMPLES = `
Examples:
  $ customer-mirror sync
      mirror every organization of the configuration
  $ customer-mirror sync acme --dry-run --json
      report, as JSON, what mirroring acme would change, and change nothing
  $ customer-mirror sync acme --quick
      between nights: save who came and mark who left, in a few requests
`
