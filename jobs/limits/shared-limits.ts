/**
 * Rate limits that all workers of a queue share, by name, kept in its database and in the time of its clock. They hold no
 * personal data and no secrets.
 */
export type SharedLimits = {
  /**
   * Reserves turns in one step, each `spacingMs` after the one before, and the first after those of all other workers. During a pause
   * no turn is reserved. Rejects, or never settles, while the queue cannot be reached.
   */
  reserve(name: string, wanted: Wanted): Promise<Reserved>
}

export type Wanted = {
  /** How many; 0 asks only for the pause. */
  turns: number
  /** 0 where the limit has no number of requests, only pauses. */
  spacingMs: number
  /** Begins a pause of so long, or lengthens one; 0 begins none. */
  pauseMs: number
  /** Names the worker, to count the workers. */
  worker: string
}

export type Reserved = {
  /** How many of the turns; the moment of the first, from now, in the past where it is late. */
  turns: number
  firstInMs: number
  /** What is left of a pause; 0 where there is none. */
  pausedMs: number
  /** Workers that used the limit lately, with this one. */
  workers: number
}

/** The name of the value of a limit. */
export function valueOf(limit: string): string {
  return `limit:${limit}`
}

/** How long a worker counts that does not ask again. */
export function believableMs(spacingMs: number): number {
  return 60_000 + 10 * spacingMs
}

/** How far ahead turns are believed, with hundreds of workers that wait for theirs: further ahead, another clock wrote the value. */
export function farthestMs(spacingMs: number): number {
  return 10 * believableMs(spacingMs)
}

/** A clock that is behind the one before by more than this was set back, and all moments with it. */
export const SET_BACK_MS = 1000
