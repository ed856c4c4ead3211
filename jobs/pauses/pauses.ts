import { ALL, isPaused, pauseOf, type Pause, type Pauses, type Stated } from '../../src/pause.ts'
import { listParsed, type SharedValues, parseValue } from '../queue/shared-values.ts'
import { z } from 'zod'
import { isoTime } from '../../src/time/iso-time.ts'

const PREFIX = 'pause:'

/** The pauses that all workers see. `onUnreadable` gets the name of each that cannot be read. */
export async function readPauses(
  values: Pick<SharedValues, 'list'>,
  onUnreadable?: (name: string) => void,
): Promise<Pauses> {
  return listParsed(values, PREFIX, parsePause, onUnreadable)
}

/** What a command did to an organization, or to ALL: the pause before, and the one now. */
export type Changed = { name: string; before: Pause | undefined; now: Pause | undefined }

/**
 * Pauses these organizations, or ALL; one that is paused already stays so, with the new end. ALL are all again, those too that were
 * resumed before.
 */
export async function pause(
  values: Pick<SharedValues, 'list' | 'write'>,
  names: readonly string[],
  { nowMs, untilMs }: { nowMs: number; untilMs: number | undefined },
): Promise<Changed[]> {
  const pauses = new Map(await readPauses(values))
  const changed: Changed[] = []
  for (const name of names) {
    const before = pauseOf(pauses, name, nowMs)
    const stated = { sinceMs: sinceOf(pauses, name, nowMs), untilMs, resumedMs: undefined }
    pauses.set(name, stated)
    await values.write(PREFIX + name, pauseText(stated))
    changed.push({ name, before, now: pauseOf(pauses, name, nowMs) })
  }
  return changed
}

/** Since when a pause is kept that is stated now. */
function sinceOf(pauses: Pauses, name: string, nowMs: number): number {
  const own = pauses.get(name)
  // A pause of ALL leaves out what was resumed since; the clock that dated this may have been ahead.
  const resumed = name === ALL ? [...pauses.values()].map(({ resumedMs }) => resumedMs ?? -1) : []
  const leastMs = Math.max(-1, ...resumed) + 1
  return own !== undefined && isPaused(own, nowMs) && own.sinceMs >= leastMs ? own.sinceMs : Math.max(nowMs, leastMs)
}

/** Ends the pauses of these organizations; with ALL, every pause there is. */
export async function resume(
  values: Pick<SharedValues, 'list' | 'write'>,
  names: readonly string[],
  nowMs: number,
): Promise<Changed[]> {
  const pauses = await readPauses(values)
  const changed: Changed[] = []
  for (const name of names.includes(ALL) ? [ALL, ...ownPauses(pauses, nowMs)] : names) {
    const before = pauseOf(pauses, name, nowMs)
    changed.push({ name, before, now: undefined })
    if (before === undefined) continue
    // Later than the pause of all organizations, whose clock may have been ahead.
    const resumedMs = Math.max(nowMs, pauses.get(ALL)?.sinceMs ?? 0)
    await values.write(PREFIX + name, pauseText({ ...before, resumedMs }))
  }
  return changed
}

/** The organizations that are paused by themselves, whatever is said about all of them. */
function ownPauses(pauses: Pauses, nowMs: number): string[] {
  return [...pauses].filter(([name, stated]) => name !== ALL && isPaused(stated, nowMs)).map(([name]) => name)
}

const moment = z.iso.datetime().transform((text) => Date.parse(text))
const stored = z
  .object({ since: moment, until: moment.optional(), resumed: moment.optional() })
  .transform(({ since, until, resumed }) => ({ sinceMs: since, untilMs: until, resumedMs: resumed }))

/** What is kept about a pause; undefined for a text that cannot be read, such as one of a newer version. */
export function parsePause(text: string): Stated | undefined {
  return parseValue(stored, text)
}

/** A pause as it is kept: `{"since": …, "until": …}`, and `resumed` once a person ended it. */
export function pauseText({ sinceMs, untilMs, resumedMs }: Stated): string {
  const [since, until, resumed] = [sinceMs, untilMs, resumedMs].map((ms) =>
    ms === undefined ? undefined : isoTime(ms),
  )
  return JSON.stringify({ since, until, resumed })
}
