import { AcceptedConfiguration } from '../../jobs/configuration/accepted-configuration.ts'
import { ACCEPTED, parseAccepted } from '../../jobs/configuration/accepted-value.ts'
import type { SharedValues } from '../../jobs/queue/shared-values.ts'

/** A file of a machine: which content it has, whether it has mistakes, when it was modified by the clock of the machine. */
type SomeFile = { content: number; isBroken: boolean; modifiedMs: number }

/** A machine with a clock that may be wrong, a file, and at most one worker. */
export type Machine = { file: SomeFile; clockMs: number; worker: SomeWorker | undefined }

type SomeWorker = ReturnType<typeof startOn>

export const LIMITS = { renewMs: 20_000, abandonedMs: 90_000 }

/** The values of a queue, in memory, with which several workers do something at the same time. */
export function someValues(): SharedValues & { forget: () => void; accepted: () => string | undefined } {
  const kept = new Map<string, string>()
  const soon = () => Promise.resolve()
  return {
    read: async (name) => (await soon(), kept.get(name)),
    list: async () => new Map(kept),
    write: async (name, value) => void kept.set(name, value),
    delete: async (name) => void kept.delete(name),
    replace: async (name, before, value) => {
      await soon()
      if (kept.get(name) !== before) return false
      kept.set(name, value)
      return true
    },
    forget: () => kept.clear(),
    accepted: () => parseAccepted(kept.get(ACCEPTED) ?? '')?.hash,
  }
}

export function hashOf(content: number): string {
  return String(content).padStart(64, '0')
}

/** A worker that starts on a machine, unless its file has mistakes. `trueMs`: the time that passes for all. */
export function startOn(
  machine: Machine,
  values: SharedValues,
  trueMs: () => number,
  { isAlone = false, warnings = [] }: { isAlone?: boolean; warnings?: unknown[] } = {},
) {
  const log = { info: () => {}, warn: (...said: unknown[]) => void warnings.push(said) }
  const now = () => trueMs() + machine.clockMs
  const config: { reading: { hash: string; readAtMs: number; modifiedMs: number }; brokenSinceMs: number | undefined } =
    {
      reading: { hash: hashOf(machine.file.content), readAtMs: now(), modifiedMs: machine.file.modifiedMs },
      brokenSinceMs: undefined,
    }
  const accepted = new AcceptedConfiguration({
    config: {
      get reading() {
        return config.reading
      },
      get modifiedMs() {
        return machine.file.modifiedMs
      },
      get brokenSinceMs() {
        return config.brokenSinceMs
      },
    },
    ...{ values, isAlone, timings: LIMITS, now, monotonicMs: trueMs, log },
  })
  return {
    accepted,
    hash: () => config.reading.hash,
    isBroken: () => config.brokenSinceMs !== undefined,
    /** Reads the file again, as the worker does when it has changed. */
    read: () => {
      const { content, isBroken, modifiedMs } = machine.file
      config.brokenSinceMs = isBroken ? (config.brokenSinceMs ?? now()) : undefined
      if (!isBroken && hashOf(content) !== config.reading.hash)
        config.reading = { hash: hashOf(content), readAtMs: now(), modifiedMs }
    },
  }
}
