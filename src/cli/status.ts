import { Command, Option } from '@commander-js/extra-typings'
import type { LastQuickRun } from '../store.ts'
import type { Config } from '../config/read-config.ts'
import { isSharedQueue } from '../config/shared-queue.ts'
import { UsageError } from '../errors/errors.ts'
import type { Pauses } from '../pause.ts'
import { durationArgument } from './arguments.ts'
import { futureDateText, isInFuture } from './output/future-date.ts'
import { screenOf, type Io, type Screen } from './io.ts'
import { pauseAsJson, pausedLines } from './output/pause-text.ts'
import { say, jsonDocument } from './output/say.ts'
import { isoTime } from '../time/iso-time.ts'
import { withMirror } from './with-mirror.ts'
import { leftBehind, statusLines, type AgeLimit, type StatusLine } from './status/status-lines.ts'
import { renderTable } from './output/table.ts'
import { duration, moment } from './output/wording.ts'
import { lastQuickText } from './output/last-quick.ts'
import { leftBehindText } from './output/advice.ts'

/** `customer-mirror status`: reports how current each organization's rows are. */
export function statusCommand(io: Io) {
  return new Command('status')
    .description('report how current the mirror is, per organization')
    .option('-c, --config <file>', 'configuration file')
    .addOption(new Option('--json', 'print one JSON document').conflicts(['html', 'format']))
    .addOption(
      new Option(
        '--html <file>',
        'write a page to look at, as one file that replaces the one before; - prints it',
      ).conflicts('format'),
    )
    .addOption(new Option('--format <form>', 'print metrics').choices(['prometheus'] as const))
    .option('-o, --output <file>', 'with --format: write a file that replaces the one before')
    .option('--max-age <time>', 'end with 3 if the last reading of any organization is older: 90m, 26h, 2d', AGE)
    .option('--proven', 'with --max-age: check the last proven or settled scan instead of the last reading')
    .addHelpText('after', EXAMPLES)
    .action(async ({ config, maxAge, proven, json, html, format, output }) => {
      if (output !== undefined && format === undefined)
        throw new UsageError('--output goes with --format prometheus. Others: status --json > FILE, status --html FILE')
      if (proven && maxAge === undefined)
        throw new UsageError('--proven changes what --max-age checks. Use both: status --max-age 26h --proven')
      const limit = { maxAgeMs: maxAge, proven }
      const { lines, left } = await withMirror(config, async (mirror, known) => {
        const nowMs = Date.now()
        const pauses = await readPauses(known)
        const facts = { config: known, pauses, nowMs }
        if (html !== undefined) await (await import('./status/write-page.ts')).writePage(html, io, mirror, facts)
        if (format !== undefined)
          await (await import('./status/write-metrics.ts')).writeMetrics(output ?? '-', io, mirror, facts)
        const freshness = await mirror.listFreshness()
        const { organizations } = known
        return {
          lines: statusLines(organizations, { freshness, pauses }, nowMs, limit),
          left: leftBehind(organizations, freshness),
        }
      })
      if (json) io.stdout.write(jsonDocument({ organizations: lines.map(asJson) }))
      if (!json && html === undefined && format === undefined) {
        const notes = futureDateText(lines) + lastQuickLines(lines) + pausedLines(lines, config)
        io.stdout.write(asTable(lines, limit, screenOf(io.stdout)))
        say(io.stdout, (notes === '' ? '' : `\n${notes}`) + left.map((each) => leftBehindText(each, config)).join(''))
      }
      if (lines.some(({ tooOld, freshness }) => tooOld || (freshness?.held ?? 0) > 0)) io.exitWith(3)
    })
}

/** Undefined where no queue is shared, and where it does not answer within a second. */
async function readPauses(config: Config): Promise<Pauses | undefined> {
  if (!isSharedQueue(config.queue)) return undefined
  const { readSharedPauses } = await import('../../jobs/pauses/read-shared-pauses.ts')
  return readSharedPauses(config)
}

function lastQuickLines(lines: readonly StatusLine[]): string {
  return lines
    .map(({ organization, freshness }) =>
      freshness?.lastQuick === undefined ? '' : lastQuickText(organization, freshness.lastQuick),
    )
    .join('')
}

function asJson({ organization, freshness, readAgeMs, provenAgeMs, tooOld, why, paused }: StatusLine) {
  return {
    organization,
    readAsOf: isoTime(freshness?.readAsOfMs),
    readAgeSeconds: wholeSeconds(readAgeMs),
    provenAsOf: isoTime(freshness?.provenAsOfMs),
    provenAgeSeconds: wholeSeconds(provenAgeMs),
    proof: freshness?.proof ?? null,
    lastRun: freshness?.lastRunId ?? null,
    lastStatus: freshness?.lastStatus ?? null,
    active: freshness?.active ?? 0,
    missing: freshness?.missing ?? 0,
    removed: freshness?.removed ?? 0,
    held: freshness?.held ?? 0,
    openRejects: freshness?.openRejects ?? 0,
    tooOld,
    why,
    paused: pauseAsJson(paused),
    lastQuick: freshness?.lastQuick === undefined ? null : quickAsJson(freshness.lastQuick),
  }
}

function quickAsJson({ runId, startedAtMs, errorCode, ...same }: LastQuickRun) {
  return { run: runId, startedAt: isoTime(startedAtMs), ...same, errorCode: errorCode ?? null }
}

function wholeSeconds(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.round(ms / 1000)
}

function asTable(lines: readonly StatusLine[], { proven }: AgeLimit, screen: Screen | undefined): string {
  const asOf = (ms: number | undefined) => (ms === undefined ? 'never' : moment(ms))
  const age = (ms: number | undefined) => (ms === undefined ? '–' : duration(Math.max(0, ms)))
  const mark = (ageMs: number | undefined) => (isInFuture(ageMs) ? ' (in the future)' : ' (too old)')
  return renderTable(
    [
      ...['organization', 'read as of', 'age', 'proven as of', 'proof', 'last run'],
      ...['active', 'missing', 'removed', 'held', 'open rejects', 'why'],
    ],
    lines.map(({ organization, freshness, readAgeMs, provenAgeMs, tooOld, why }) => [
      organization,
      asOf(freshness?.readAsOfMs),
      isInFuture(readAgeMs) ? 'in the future' : age(readAgeMs) + (tooOld && !proven ? ' (too old)' : ''),
      asOf(freshness?.provenAsOfMs) + (tooOld && proven ? mark(provenAgeMs) : ''),
      freshness?.proof ?? '–',
      freshness === undefined ? '–' : `#${freshness.lastRunId} ${freshness.lastStatus}`,
      freshness?.active ?? 0,
      freshness?.missing ?? 0,
      freshness?.removed ?? 0,
      freshness?.held ?? 0,
      freshness?.openRejects ?? 0,
      why.length === 0 ? '–' : why.join(', '),
    ]),
    screen,
  )
}

const AGE = durationArgument({ most: '36500d', examples: '90m, 26h or 2d' })

const EXAMPLES = `
Examples:
  $ customer-mirror status
      a table of how current each organization is
  $ customer-mirror status --max-age 26h --json
      for a monitor: ends with 3 when a night was missed
  $ customer-mirror status --max-age 8d --proven
      ends with 3 when no scan was proven or settled for eight days
  $ customer-mirror status --html status.html
      a page to look at in a browser: one file, with nothing to load
  $ customer-mirror status --format prometheus --output customer-mirror.prom
      metrics for the textfile collector of node_exporter, named as those of the worker

While removals are held back, status ends with 3. 'customer-mirror removals list' lists them, to approve or discard.
`
