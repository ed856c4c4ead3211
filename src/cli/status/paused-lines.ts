import type { Pause } from '../../pause.ts'
import { isoTime } from '../../time/iso-time.ts'

/** An organization of a list, and its pause where it has one. */
type Line = { organization: string; paused: Pause | undefined }

/** A line for each paused organization, below a table of all. `config`: the file that the user named. */
export async function pausedLines(lines: readonly Line[], config: string | undefined): Promise<string> {
  if (lines.every(({ paused }) => paused === undefined)) return ''
  const { pausedSince } = await import('../output/pause-text.ts')
  return lines.map(({ organization, paused }) => (paused ? pausedSince(organization, paused, config) : '')).join('')
}

/** The key `paused` of a JSON document. */
export function pauseAsJson(paused: Pause | undefined) {
  return paused ? { since: isoTime(paused.sinceMs), until: isoTime(paused.untilMs) } : null
}
