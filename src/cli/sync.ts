import { Command, Option } from '@commander-js/extra-typings'
import type { Outcome } from '../mirror-organization.ts'
import { exitCodeOf, exitCodeOfRuns } from './exit-code.ts'
import { isTerminal, screenOf, type Io, type Screen } from './io.ts'
import { logLevelOption } from './arguments/log-level-option.ts'
import { jsonDocument } from './output/json-document.ts'
import { reportCopies } from './report-copies.ts'
import type { SyncOptions, Synced } from './sync-organizations.ts'
import { wholeNumber } from './arguments/whole-number-argument.ts'

/** `customer-mirror sync`: mirrors organizations now, without any queue. */
export function syncCommand(io: Io) {
  return new Command('sync')
    .description('mirror organizations now: those named, or all in the configuration')
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
    .addHelpText('after', EXAMPLES)
    .action(async (ids, options) => {
      const { logLevel } = options
      await (logLevel === undefined ? mirror(ids, options) : loggingFailure(logLevel, io, () => mirror(ids, options)))
    })

  async function mirror(ids: readonly string[], options: SyncOptions & { json?: true | undefined }): Promise<void> {
    const { syncOrganizations } = await import('./sync-organizations.ts')
    const synced = await syncOrganizations(ids, options, io)
    const { outcomes, mirrorFile, published } = synced
    if (options.json) {
      const { toJson } = await import('../report.ts')
      // A dry run is not stored: its number belongs to another run of the mirror.
      const runs = outcomes.map(({ report }) => ({ ...toJson(report), ...(options.dryRun && { runId: null }) }))
      io.stdout.write(
        jsonDocument({ runs, ...(published !== undefined && { published }) }, { onOneLine: !isTerminal(io.stdout) }),
      )
    } else {
      io.stdout.write(await describe(outcomes, { ...options, mirrorFile }, screenOf(io.stdout)))
    }
    if (options.logLevel === undefined) io.stderr.write(await whatToDo(synced, options, screenOf(io.stderr)))
    await reportCopies(io, { runs: exitCodeOfRuns(outcomes), published }, options)
  }
}

/** With --log-level, an error before the sync starts is logged as well. */
async function loggingFailure(level: string, io: Io, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    const [{ createLog }, { describeError, isOurs }] = await Promise.all([
      import('../log.ts'),
      import('../errors/errors.ts'),
    ])
    const log = createLog({ level, stream: io.stderr })
    log.error({ error: describeError(error), ...(!isOurs(error) && { err: error }) }, 'sync failed')
    io.exitWith(exitCodeOf(error))
  }
}

/** What failed, and the removals that wait for a decision, each with what to do about it. Empty when all is well. */
async function whatToDo(
  { outcomes, organizations, held }: Synced,
  { dryRun, config, quick }: SyncOptions,
  screen: Screen | undefined,
): Promise<string> {
  let text = ''
  if (outcomes.some(({ error }) => error !== undefined)) {
    const { failureBlocks } = await import('./output/failure-blocks.ts')
    text += failureBlocks(outcomes, { organizations, columns: screen?.columns, dryRun: dryRun === true, config })
  }
  if (quick === true) {
    const [{ quickAdvice }, { wrapLines }] = await Promise.all([
      import('./output/quick-text.ts'),
      import('./output/fit-text.ts'),
    ])
    const reports = outcomes.map(({ report }) => report)
    text += wrapLines(quickAdvice(reports, config), screen?.columns ?? Number.POSITIVE_INFINITY)
  }
  if (held === undefined || held.length > 0) {
    const { heldWarning } = await import('./output/held-warning.ts')
    text += heldWarning(held, config)
  }
  return text + (await describePruned(outcomes, 'failed'))
}

async function describe(
  outcomes: readonly Outcome[],
  { mirrorFile, dryRun, quick }: Pick<SyncOptions, 'dryRun' | 'quick'> & { mirrorFile: string },
  screen: Screen | undefined,
): Promise<string> {
  const { runsTable } = await import('./output/runs-table.ts')
  const reports = outcomes.map(({ report }) => report)
  const found = quick === true ? (await import('./output/quick-text.ts')).quickText(reports) : ''
  const where = dryRun ? 'Dry run: nothing was written.' : `Mirror: ${mirrorFile}`
  return `${runsTable(reports, screen)}\n${found}${where}\n${await describePruned(outcomes, 'done')}`
}

/** Loaded only where retention has something to say. */
async function describePruned(outcomes: readonly Outcome[], what: 'done' | 'failed'): Promise<string> {
  const reports = outcomes.map(({ report }) => report).filter(({ pruned }) => pruned !== undefined)
  if (reports.length === 0) return ''
  const { prunedText, unprunedText } = await import('./output/pruned-text.ts')
  return what === 'done' ? prunedText(reports) : unprunedText(reports)
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
