import { ALL, type Pause } from '../../pause.ts'
import { moment } from '../../wording.ts'
import { configOption } from './wording.ts'
import { isoTime } from '../../time/iso-time.ts'

type Changed = import('../../../jobs/pauses/pauses.ts').Changed

/** What `pause` did, a line for each organization. */
export function pausedText(changed: readonly Changed[]): string {
  return changed.map(({ name, before, now }) => `${subject(name)} ${pausedWords(before, now)}\n`).join('')
}

function pausedWords(before: Pause | undefined, now: Pause | undefined): string {
  const until = now?.untilMs === undefined ? 'until resumed' : `until ${moment(now.untilMs)}`
  return before === undefined ? `paused ${until}` : `paused already, since ${moment(before.sinceMs)}; now ${until}`
}

/** What `resume` did. */
export function resumedText(changed: readonly Changed[]): string {
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
  const command = `customer-mirror resume ${organization}${configOption(config)}`
  return `${organization}: paused since ${moment(sinceMs)}${until}: ${command}\n`
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
