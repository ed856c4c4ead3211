/** An organization that starts no run by itself: since when, and until when if that is known. Unix milliseconds. */
export type Pause = { sinceMs: number; untilMs?: number | undefined }

/** What was last said about an organization, or about all of them. */
export type Stated = Pause & { resumedMs?: number | undefined }

/** Which organizations are paused, by their ids and ALL. */
export type Pauses = ReadonlyMap<string, Stated>

/** The name under which the pause of all organizations is kept. No organization has this id. */
export const ALL = '*'

/** The pause of an organization at a moment: its own, that of all of them, or what the two come to. Undefined if it is not paused. */
export function pauseOf(pauses: Pauses, organization: string, nowMs: number): Pause | undefined {
  const [own, all] = [pauses.get(organization), pauses.get(ALL)]
  // The organization was resumed although the others stay paused.
  const isLeftOut = own?.resumedMs !== undefined && all !== undefined && own.resumedMs >= all.sinceMs
  const stated = isLeftOut ? [own] : [own, all]
  const found = stated.flatMap((each) => (each !== undefined && isPaused(each, nowMs) ? [each] : []))
  if (found.length === 0) return undefined
  const endMs = Math.max(...found.map(({ untilMs = Infinity }) => untilMs))
  return { sinceMs: Math.min(...found.map(({ sinceMs }) => sinceMs)), untilMs: endMs === Infinity ? undefined : endMs }
}

/** Whether what was stated pauses anything at a moment, regarded by itself. */
export function isPaused({ untilMs, resumedMs }: Stated, nowMs: number): boolean {
  return resumedMs === undefined && (untilMs === undefined || untilMs > nowMs)
}

/** When the last pause of an organization ended; undefined while it is paused, and where it never was. */
export function pauseEndedMs(pauses: Pauses, organization: string, nowMs: number): number | undefined {
  if (pauseOf(pauses, organization, nowMs) !== undefined) return undefined
  const ends = [pauses.get(organization), pauses.get(ALL)].flatMap((stated) => {
    const endMs = stated?.resumedMs ?? stated?.untilMs
    return endMs === undefined || endMs > nowMs ? [] : [endMs]
  })
  return ends.length === 0 ? undefined : Math.max(...ends)
}
