import { command, namedConfig, timeArgument } from './command.ts'
import type { Io } from './io.ts'
import { configOption, say } from './output/say.ts'
import { UsageError } from '../errors/errors.ts'
import { ALL, type Pause } from '../model/pause.ts'
import { moment } from '../text/wording.ts'
import { isoOf, isoTime } from '../time/moments.ts'

/** `customer-mirror pause`: no run of organizations starts until they are resumed. */
export function pauseCommand(io: Io) {
  return command('pause', 'hold back the runs of organizations, or of all, until resumed', EXAMPLES)
    .argument('[organization...]', 'ids of organizations')
    .option('--until <time>', 'end the pause by itself at this time', timeArgument)
    .action(async (ids, { config: file, until }) => {
      const nowMs = Date.now()
      const untilMs = until === undefined ? undefined : Date.parse(isoOf(until))
      if (untilMs !== undefined && untilMs <= nowMs)
        throw new UsageError(`--until ${moment(untilMs)} has passed, so nothing was paused. Name a time in the future.`)
      const config = await namedConfig(file)
      const { chooseIds } = await import('../config/organization.ts')
      const organizations = chooseIds(config, ids)
      const { pauseOrganizations } = await import('../../jobs/commands/listed-queue.ts')
      say(io.stdout, pausedText(await pauseOrganizations(config, organizations, { nowMs, untilMs })))
    })
}

const EXAMPLES = `
Every worker of the queue sees it within seconds. A run under way ends normally; no other one starts, neither by the schedule nor by 'customer-mirror run'. When the pause ends, a run that was missed is made up for once. 'customer-mirror sync' needs no queue, and is not paused.

Examples:
  $ customer-mirror pause acme --until "2026-12-24 06:00"
      the service is being maintained until six o'clock UTC
  $ customer-mirror pause
      all organizations, until 'customer-mirror resume'
`

/** `customer-mirror resume`: ends the pause of organizations. */
export function resumeCommand(io: Io) {
  return command('resume', 'end the pause of organizations; without a name, every pause', RESUME_EXAMPLES)
    .argument('[organization...]', 'ids of organizations')
    .action(async (ids, { config: file }) => {
      const config = await namedConfig(file)
      const { chooseIds } = await import('../config/organization.ts')
      const organizations = chooseIds(config, ids)
      const { resumeOrganizations } = await import('../../jobs/commands/listed-queue.ts')
      say(io.stdout, resumedText(await resumeOrganizations(config, organizations, Date.now())))
    })
}

const RESUME_EXAMPLES = `
A run that was missed meanwhile is made up for at once, one for each organization. An organization that is named is resumed although all of them are paused; the others stay so.

Examples:
  $ customer-mirror resume acme
  $ customer-mirror resume
      every pause, also those of single organizations
`

type Changed = import('../../jobs/pauses.ts').Changed

/** What `pause` did, a line for each organization. */
function pausedText(changed: readonly Changed[]): string {
  return changed.map(({ name, before, now }) => `${subject(name)} ${pausedWords(before, now)}\n`).join('')
}

function pausedWords(before: Pause | undefined, now: Pause | undefined): string {
  const until = now?.untilMs === undefined ? 'until resumed' : `until ${moment(now.untilMs)}`
  return before === undefined ? `paused ${until}` : `paused already, since ${moment(before.sinceMs)}; now ${until}`
}

/** What `resume` did. */
function resumedText(changed: readonly Changed[]): string {
  const named = changed.filter(({ before, name }) => before !== undefined || name !== ALL)
  if (named.length === 0) return 'Nothing was paused.\n'
  return named
    .map(({ name, before }) => {
      if (before === undefined) return `${name}: was not paused\n`
      return `${subject(name)} resumed, paused since ${moment(before.sinceMs)}\n`
    })
    .join('')
}

/** A paused organization, where others are shown too. */
function pausedSince(organization: string, { sinceMs, untilMs }: Pause, config: string | undefined): string {
  const until = untilMs === undefined ? '' : `, until ${moment(untilMs)}`
  const resume = `customer-mirror resume ${organization}${configOption(config)}`
  return `${organization}: paused since ${moment(sinceMs)}${until}: ${resume}\n`
}

function subject(name: string): string {
  return name === ALL ? 'all organizations:' : `${name}:`
}

/** An organization of a list, and its pause where it has one. */
type Line = { organization: string; paused: Pause | undefined }

/** A line for each paused organization, below a table of all. `config`: the file that the user named. */
export function pausedLines(lines: readonly Line[], config: string | undefined): string {
  return lines.map(({ organization, paused }) => (paused ? pausedSince(organization, paused, config) : '')).join('')
}

/** The key `paused` of a JSON document. */
export function pauseAsJson(paused: Pause | undefined) {
  return paused ? { since: isoTime(paused.sinceMs), until: isoTime(paused.untilMs) } : null
}
