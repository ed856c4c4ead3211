import { logLevelOption, wholeNumber } from './command.ts'
import { Command, Option } from '@commander-js/extra-typings'
import type { Outcome } from '../sync/mirror-organization.ts'
import { exitCodeOf, exitCodeOfRuns, exitCodesText, type ExitCode } from './exit-code.ts'
import { isTerminal, screenOf, type Io, type Screen } from './io.ts'
import { jsonDocument, say, print, wrapLines } from './output/say.ts'
import type { SyncOptions, Synced } from './sync-organizations.ts'
import type { Report } from '../model/report.ts'
import { count } from './output/wording.ts'
import {
  quickAdvice,
  quickText,
  heldWarning,
  shapeWarning,
  publishedText,
  failedText,
  exitCodeWithCopies,
} from './output/advice.ts'
import { failureBlocks } from './output/failure-blocks.ts'
import { runsTable } from './output/run-words.ts'
import type { Published } from '../copies/publish-plan.ts'

/** `customer-mirror sync`: mirrors organizations now, without any queue. */
export function syncCommand(io: Io) {
  return new Command('sync')
    .description('mirror organizations now, those named or all')
    .argument('[organization...]', 'ids of organizations')
    .option('-c, --config <file>', 'configuration file')
    .option('--json', 'print the reports as one JSON document, on one line for a file or a pipe')
    .option('--dry-run', 'read everything and report what would change, but write nothing')
    .option('--limit-pages <number>', 'stop after this many pages of each organization', wholeNumber({ least: 1 }))
    .addOption(
      new Option('--quick', 'only look for who came and who left, in a few requests; removes no customer').conflicts(
        'limitPages',
      ),
    )
    .addOption(logLevelOption('log JSON lines to stderr, and nothing else'))
    .addHelpText('after', EXAMPLES + exitCodesText())
    .action(async (ids, options) => {
      const { logLevel } = options
      await (logLevel === undefined ? mirror(ids, options) : loggingFailure(logLevel, io, () => mirror(ids, options)))
    })

  async function mirror(ids: readonly string[], options: SyncOptions & { json?: true | undefined }): Promise<void> {
    const { syncOrganizations } = await import('./sync-organizations.ts')
    const synced = await syncOrganizations(ids, options, io)
    const { outcomes, mirrorFile, published } = synced
    if (options.json) {
      const { toJson } = await import('../model/report.ts')
      // A dry run is not stored: its number belongs to another run of the mirror.
      const runs = outcomes.map(({ report }) => ({ ...toJson(report), ...(options.dryRun && { runId: null }) }))
      io.stdout.write(
        jsonDocument({ runs, ...(published !== undefined && { published }) }, { onOneLine: !isTerminal(io.stdout) }),
      )
    } else {
      print(io.stdout, describe(outcomes, { ...options, mirrorFile }, screenOf(io.stdout)))
    }
    if (options.logLevel === undefined) print(io.stderr, whatToDo(synced, options, screenOf(io.stderr)))
    reportCopies(io, { runs: exitCodeOfRuns(outcomes), published }, options)
  }
}

/** With --log-level, an error before the sync starts is logged as well. */
async function loggingFailure(level: string, io: Io, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    const [{ createLog }, { describeError, isOurs }] = await Promise.all([
      import('../machine/log.ts'),
      import('../errors/errors.ts'),
    ])
    const log = createLog({ level, stream: io.stderr })
    log.error({ error: describeError(error), ...(!isOurs(error) && { err: error }) }, 'sync failed')
    io.exitWith(exitCodeOf(error))
  }
}

/** What failed, and the removals that wait for a decision, each with what to do about it. Empty when all is well. */
export function whatToDo(
  { outcomes, organizations, held }: Pick<Synced, 'outcomes' | 'organizations' | 'held'>,
  { dryRun, config, quick }: SyncOptions,
  screen: Screen | undefined,
): string {
  const reports = outcomes.map(({ report }) => report)
  const columns = screen?.columns
  return (
    failureBlocks(outcomes, { organizations, columns, dryRun: dryRun === true, config }) +
    (quick === true ? wrapLines(quickAdvice(reports, config), columns ?? Number.POSITIVE_INFINITY) : '') +
    heldWarning(held, config) +
    shapeWarning(reports, config) +
    unprunedText(reports)
  )
}

function describe(
  outcomes: readonly Outcome[],
  { mirrorFile, dryRun, quick }: Pick<SyncOptions, 'dryRun' | 'quick'> & { mirrorFile: string },
  screen: Screen | undefined,
): string {
  const reports = outcomes.map(({ report }) => report)
  const found = quick === true ? quickText(reports) : ''
  const where = dryRun ? 'Dry run: nothing was written.' : `Mirror: ${mirrorFile}`
  return `${runsTable(reports, screen)}\n${found}${where}\n${prunedText(reports)}`
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

/** What retention deleted after the runs, a line for each organization. */
export function prunedText(reports: readonly Report[]): string {
  return reports
    .flatMap(({ organization, pruned }) => {
      if (pruned === undefined || pruned.error !== undefined) return []
      const counts = [
        [pruned.changes, 'change'],
        [pruned.removedCustomers, 'removed customer'],
        [pruned.resolvedRejects, 'resolved reject'],
        [pruned.runs, 'run'],
      ] as const
      const deleted = counts.filter(([number]) => number > 0).map(([number, noun]) => count(number, noun))
      const rest = pruned.isUnfinished ? '; the next run continues' : ''
      return [`${organization}: deleted ${deleted.join(', ')}, older than retention keeps them${rest}\n`]
    })
    .join('')
}

/** What kept retention from its work. The runs are as they were. */
export function unprunedText(reports: readonly Report[]): string {
  return reports
    .flatMap(({ organization, pruned }) => {
      if (pruned?.error === undefined) return []
      return [`! ${organization}: old rows were not deleted, and the next run tries again. ${pruned.error.message}\n`]
    })
    .join('')
}

/** The copies made after runs, in words where there is neither JSON nor a log, and in the exit code of the runs. */
function reportCopies(
  { stdout, stderr, exitWith }: Io,
  { runs, published }: { runs: ExitCode; published: Published | undefined },
  { json, logLevel }: { json?: true | undefined; logLevel?: string | undefined },
): void {
  if (published === undefined) return exitWith(runs)
  if (!json) print(stdout, publishedText(published))
  if (logLevel === undefined) say(stderr, failedText(published))
  exitWith(exitCodeWithCopies(runs, published))
}
