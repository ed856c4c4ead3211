import { isTerminal, jsonDocument, linesOf, print, printTable, say, screenOf } from './output/print.ts'
import { command, EXIT_CODES, type Io } from './command.ts'
import { CLOCKS, namedConfig } from './opening.ts'
import pLimit from 'p-limit'
import { shownMirror } from '../address/mirror-address.ts'
import { exitCodeOfRuns, foundText, publishedText, runsTable, summary, whatToDo } from './output/run-words.ts'
import { processEnvironment } from '../config/environment.ts'
import { chooseOrganizations } from '../config/organization.ts'
import { configuredPlans, publishAfterRuns } from '../copies/publish-plan.ts'
import { describeError, factsOf } from '../errors/errors.ts'
import { hasChangedCustomers, toJson } from '../model/report.ts'
import { closing, openMirror, rehearseMirror } from '../store/mirror.ts'
import { openAwaited } from '../sync/await-mirror.ts'
import type { Outcome } from '../sync/mirror-organization.ts'
import { runOrganization, type Talk } from '../sync/run-organization.ts'
import { duration, grouped } from '../text/wording.ts'

export function syncCommand(io: Io) {
  const exitCodes = Object.entries(EXIT_CODES).map(([code, meaning]) => `  ${code.padStart(3)}  ${meaning}`)
  return command('sync', {
    sync: 'mirror every organization of the configuration',
    'sync acme --dry-run --json': 'report, as JSON, what mirroring acme would change, and change nothing',
    'sync acme --quick': 'between nights: save who came and mark who left, in a few requests',
  })
    .addHelpText('after', linesOf(['\nExit codes:', ...exitCodes]))
    .argument('[organization...]', 'ids of organizations')
    .option('--json', 'print the reports as one JSON document, on one line for a file or a pipe')
    .option('--dry-run', 'read everything and print what would change, and write nothing')
    .option('--quick', 'only look for who came and who left, in a few requests; removes no customer')
    .action(async (ids, options) => {
      const ended = await syncOrganizations(ids, options, io)
      const { mirrorFile, published } = ended
      const reports = ended.outcomes.map(({ report }) => report)
      if (options.json && !options.dryRun) {
        const document = { runs: reports.map(toJson), ...(published !== undefined && { published }) }
        io.stdout.write(jsonDocument(document, { onOneLine: !isTerminal(io.stdout) }))
      } else if (!options.json) {
        const where = options.dryRun ? 'Dry run: nothing was written.' : `Mirror: ${mirrorFile}`
        printTable(io.stdout, runsTable(reports))
        print(io.stdout, `\n${foundText(reports)}${where}\n${published === undefined ? '' : publishedText(published)}`)
      }
      say(io.stderr, whatToDo(ended, options))
      io.exitWith(exitCodeOfRuns(ended))
    })
}

type SyncOptions = { config?: string; json?: true; dryRun?: true; quick?: true }

/** Mirrors organizations in parallel, and publishes. No failure stops the others. A dry run is printed at once: its mirror is gone afterwards. */
export async function syncOrganizations(ids: readonly string[], options: SyncOptions, io: Io) {
  const { config: file, json, dryRun, quick: isPartial = false } = options
  const { signal, stderr } = io
  const config = await namedConfig(file)
  const organizations = chooseOrganizations(config, ids)
  const chosen = organizations.map(({ id }) => id)
  const open = () =>
    dryRun ? rehearseMirror(config.mirror, chosen, { withLists: isPartial }) : openMirror(config.mirror, { signal })
  const onAway = (error: unknown, longestWaitMs: number) => {
    const { message } = describeError(error)
    say(stderr, `${message}\nWaiting for it, ${duration(longestWaitMs)} at most. Ctrl-C ends this.\n`)
  }
  const opened = openAwaited(open, { organizations, ...CLOCKS, signal, onAway })
  return closing(await opened, async (mirror) => {
    const rateLimits = new Map()
    const listHeld = () => mirror.listHeldRemovals().catch(() => undefined)
    // Removals that a dry run would hold back cannot be approved, so only earlier ones are listed.
    const heldBefore = dryRun ? await listHeld() : undefined
    const lines = await liveLines(chosen, stderr, signal)
    const outcomes = await pLimit(8).map(organizations, async (organization) => {
      const line = lines?.began(organization.id)
      const outcome = await runOrganization(organization, {
        ...{ mirror, rateLimits, isPartial, signal, trigger: 'sync' },
        ...{ longestWaitMs: organization.maxWaitMs, ...CLOCKS, ...line },
      })
      line?.ended(outcome)
      return outcome
    })
    lines?.close()
    if (dryRun) await (await import('./query.ts')).printRehearsed(mirror, outcomes, json, io)
    const held = dryRun ? heldBefore : await listHeld()
    const plans = configuredPlans(config)
    // A copy after each partial run that found nothing would be in vain.
    const isNew = !isPartial || outcomes.some(({ report }) => hasChangedCustomers(report))
    const isPublished = plans.length > 0 && !dryRun && !signal.aborted && isNew
    const published = isPublished ? await publishAfterRuns(plans, { signal }) : undefined
    return { outcomes, held, mirrorFile: shownMirror(config.mirror), published }
  })
}

/** A line of the terminal for each active organization, as many as fit. Undefined where no person is looking: cron mails every word. */
export async function liveLines(ids: readonly string[], stderr: NodeJS.WritableStream, stop: AbortSignal) {
  const screen = processEnvironment()['TERM'] === 'dumb' ? undefined : screenOf(stderr)
  if (screen === undefined) return undefined
  const { createLogUpdate } = await import('log-update')
  const update = createLogUpdate(screen, { showCursor: true })
  const active = new Map<string, string>()
  let ended = 0
  const draw = () => {
    // One row is left for the cursor, and one for what does not fit.
    const shown = [...active].slice(0, Math.max(1, (screen.rows ?? 24) - 2))
    const more = ids.length - ended - shown.length
    const rest = stop.aborted ? [`… ${STOPPING}`] : more > 0 ? [`… ${grouped(more)} more`] : []
    const lines = [...shown.map(([id, words]) => `${id}  ${words}`), ...rest]
    update(lines.map((line) => line.slice(0, screen.columns - 1)).join('\n'))
  }
  const timer = setInterval(draw, 200)
  stop.addEventListener('abort', draw)
  return {
    began(id: string): Talk & { ended(outcome: Outcome): void } {
      active.set(id, 'asking for the first page')
      draw()
      return {
        onProgress: ({ customers, readBefore, total = 0 }) => {
          const of = total === 0 ? '' : ` of ${grouped(total)}`
          active.set(id, `${grouped(readBefore + customers)}${of} customers`)
        },
        onEvent: (event) => {
          // A clock that is corrected makes nothing wait, and a wait is never said to be shorter than it is.
          if (event.kind === 'waiting')
            active.set(id, `${WHY[event.reason]}; continues in ${duration(Math.ceil(event.waitMs / 1000) * 1000)}`)
        },
        ended({ report, error }) {
          active.delete(id)
          ended += 1
          update.persist(error === undefined ? `✔ ${id}  ${summary(report)}` : `✖ ${id}  ${factsOf(error).title}`)
          draw()
        },
      }
    },
    close() {
      clearInterval(timer)
      stop.removeEventListener('abort', draw)
      update.clear()
    },
  }
}

const STOPPING = 'stopping: saving what has arrived (Ctrl-C again ends at once)'
const WHY = {
  'rate-limited': 'asked to slow down',
  unavailable: 'not available',
  'mirror-gone': 'the server of the mirror does not answer',
}
