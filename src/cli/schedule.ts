import { command, JSON_OPTION, namedConfig, show, wholeNumber } from './command.ts'
import { type Io, type Screen, screenOf } from './io.ts'
import { moment } from './output/say.ts'
import { renderTable } from './output/table.ts'
import { pauseAsJson, pausedLines } from './pause.ts'
import type { Pause } from '../model/pause.ts'
import { isoTime } from '../time/moments.ts'

/** `customer-mirror schedule`: shows when each organization is mirrored next. Reads the pauses in the queue. */
export function scheduleCommand(io: Io) {
  return command('schedule', 'show when each organization is mirrored next, or due now', EXAMPLES)
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
type Moment = Line['runs'][number]

function asJson({ organization, cron, timezone, dueNow, paused, runs, quick }: Line) {
  return {
    organization,
    cron: cron ?? null,
    timezone: timezone ?? null,
    dueNow,
    paused: pauseAsJson(paused),
    runs: runs.map(momentAsJson),
    quick: quick === undefined ? null : { cron: quick.cron, runs: quick.runs.map(momentAsJson) },
  }
}

function momentAsJson({ atMs, local, clocksChange }: Moment) {
  return { at: isoTime(atMs), local, clocksChange }
}

function asTable(lines: readonly Line[], screen: Screen | undefined): string {
  const row = ({ atMs, local, clocksChange }: Moment, timezone: string | undefined) => [
    local,
    moment(atMs),
    timezone ?? '–',
    clocksChange ? 'the clocks change on this day' : '',
  ]
  const nights = renderTable(
    ['organization', 'due now', 'next runs', 'UTC', 'time zone', ''],
    lines.flatMap(({ organization, timezone, dueNow, paused, runs }) => {
      if (timezone === undefined) return [[organization, 'no schedule', '–', '–', '–', '']]
      if (runs.length === 0) return [[organization, 'paused', '–', '–', timezone, '']]
      return runs.map((run, index) => [
        index === 0 ? organization : '',
        index === 0 ? dueWords(dueNow, paused) : '',
        ...row(run, timezone),
      ])
    }),
    screen,
  )
  const quick = lines.flatMap(({ organization, timezone, quick: between }) =>
    (between?.runs ?? []).map((run, index) => [index === 0 ? organization : '', ...row(run, timezone)]),
  )
  if (quick.length === 0) return nights
  return `${nights}\n${renderTable(['organization', 'next quick runs', 'UTC', 'time zone', ''], quick, screen)}`
}

function dueWords(dueNow: boolean, paused: Pause | undefined): string {
  if (paused !== undefined) return 'paused'
  return dueNow ? 'yes' : 'no'
}

const EXAMPLES = `
Examples:
  $ customer-mirror schedule
      the next five runs of each organization, in local time and in UTC; and apart from them the next five quick runs
  $ customer-mirror schedule --next 30 --json
`
