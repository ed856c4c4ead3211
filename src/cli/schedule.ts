import { isoTime } from '../time/moments.ts'
import { command, JSON_OPTION, namedConfig, show, wholeNumber } from './command.ts'
import { screenOf, type Io, type Screen } from './io.ts'
import { moment } from './output/say.ts'
import { renderTable } from './output/table.ts'
import { pauseAsJson, pausedLines } from './queue.ts'

/** `customer-mirror schedule`: shows when each organization is mirrored next. Reads the pauses in the queue. */
export function scheduleCommand(io: Io) {
  return command('schedule', EXAMPLES)
    .option('--next <number>', 'how many runs of each', wholeNumber({ least: 1, most: 366 }), 5)
    .option(...JSON_OPTION)
    .action(async ({ config: file, next, json }) => {
      const config = await namedConfig(file)
      const { listSchedule } = await import('../../jobs/commands/list-schedule.ts')
      const lines = await listSchedule(config, { nowMs: Date.now(), count: next })
      show(io, json, {
        document: { organizations: lines.map(asJson) },
        table: asTable(lines, screenOf(io.stdout)) + pausedLines(lines, file),
      })
    })
}

type Line = import('../../jobs/commands/list-schedule.ts').ScheduleLine

function asJson({ cron, timezone, paused, runs, between, ...same }: Line) {
  return {
    ...{ ...same, cron: cron ?? null, timezone: timezone ?? null, paused: pauseAsJson(paused) },
    runs: runs.map(momentAsJson),
    quick: between === undefined ? null : { cron: between.cron, runs: between.runs.map(momentAsJson) },
  }
}

function momentAsJson({ atMs, ...same }: Line['runs'][number]) {
  return { at: isoTime(atMs), ...same }
}

function asTable(lines: readonly Line[], screen: Screen | undefined): string {
  /** The first of the rows has the cells of its organization. */
  const rowsOf = (runs: Line['runs'], timezone: string | undefined, first: readonly string[]) =>
    runs.map(({ atMs, local, clocksChange }, index) => [
      ...(index === 0 ? first : first.map(() => '')),
      ...[local, moment(atMs), timezone ?? '–', clocksChange ? 'the clocks change on this day' : ''],
    ])
  const nights = lines.flatMap(({ organization, timezone, dueNow, paused, runs }) => {
    const due = timezone === undefined ? 'no schedule' : paused !== undefined ? 'paused' : dueNow ? 'yes' : 'no'
    if (runs.length === 0) return [[organization, due, '–', '–', timezone ?? '–', '']]
    return rowsOf(runs, timezone, [organization, due])
  })
  const quick = lines.flatMap(({ organization, timezone, between }) =>
    rowsOf(between?.runs ?? [], timezone, [organization]),
  )
  const table = renderTable(['organization', 'due now', 'next runs', 'UTC', 'time zone', ''], nights, screen)
  if (quick.length === 0) return table
  return `${table}\n${renderTable(['organization', 'next quick runs', 'UTC', 'time zone', ''], quick, screen)}`
}

const EXAMPLES = `
Examples:
  $ customer-mirror schedule
      the next five runs of each organization, in local time and in UTC; and apart from them the next five quick runs
  $ customer-mirror schedule --next 30 --json
`
