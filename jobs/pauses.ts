import { z } from 'zod'
import { isSharedQueue } from '../src/address/mirror-address.ts'
import type { Config } from '../src/config/read-config.ts'
import { ALL, isPaused, pauseOf, type Pauses } from '../src/model/pause.ts'
import { askQueue } from './queue/backend.ts'
import { repeatedly, within } from '../src/machine/timers.ts'
import { OPTIONAL_ANSWER_MS, type SharedValues, valuesNamed } from './queue/port.ts'

const moment = z.number().optional()
const kept = valuesNamed('pause:', z.object({ sinceMs: z.number(), untilMs: moment, resumedMs: moment }))

/** The pauses that all workers see. */
export const readPauses = kept.list

type Values = Pick<SharedValues, 'list' | 'write'>
export type Warn = (text: string) => unknown
export type Pausing = { nowMs: number; untilMs: number | undefined }

/** Pauses these organizations, or ALL, those too that were resumed before. One that is paused already stays so, with the new end. */
export async function pause(values: Values, names: readonly string[], { nowMs, untilMs }: Pausing) {
  const pauses = await readPauses(values)
  const one = async (name: string) => {
    const own = pauses.get(name)
    // A pause of ALL leaves out what was resumed since, so that it begins anew.
    const isKept = name !== ALL && own !== undefined && isPaused(own, nowMs)
    const stated = { sinceMs: isKept ? own.sinceMs : nowMs, untilMs }
    await kept.write(values, name, stated)
    const now = pauseOf(new Map([...pauses, [name, stated]]), name, nowMs)
    return { name, before: pauseOf(pauses, name, nowMs), now }
  }
  return Promise.all(names.map(one))
}

/** Ends the pauses of these organizations; with ALL, every pause there is. */
export async function resume(values: Values, names: readonly string[], nowMs: number) {
  const pauses = await readPauses(values)
  const own = [...pauses].filter(([name, stated]) => name !== ALL && isPaused(stated, nowMs)).map(([name]) => name)
  const one = async (name: string) => {
    const before = pauseOf(pauses, name, nowMs)
    if (before !== undefined) await kept.write(values, name, { ...before, resumedMs: nowMs })
    return { name, before, now: undefined }
  }
  return Promise.all((names.includes(ALL) ? [ALL, ...own] : names).map(one))
}

/** The pauses in the queue of the configuration; undefined where no queue is shared, and, told to `warn`, where it does not answer within a second. */
export async function readSharedPauses({ queue }: Pick<Config, 'queue'>, warn: Warn) {
  if (!isSharedQueue(queue)) return undefined
  return askQueue(queue, OPTIONAL_ANSWER_MS, ({ values }) => readPauses(values)).catch(() => void warn(UNKNOWN))
}

const UNKNOWN = "The queue does not answer, so pauses are not known. 'customer-mirror check' says why.\n"

type Watching = { values: Pick<SharedValues, 'list'>; lookMs: number; now: () => number; onChange: () => void }

/** Looks from now on for pauses that begin and end, and calls `onChange` where one has since the look before. */
export function watchPauses({ values, lookMs, now, onChange }: Watching) {
  let known: Pauses = new Map()
  let seen: string | undefined
  const looking = repeatedly(lookMs, async () => {
    known = await readPauses(values)
    const before = seen
    // A pause may end by itself.
    seen = JSON.stringify([...known].map(([name, stated]) => [name, stated, isPaused(stated, now())]))
    if (before !== undefined && before !== seen) onChange()
  })
  return {
    /** As the queue has it now; while it does not answer, as it was last seen. Never rejects. */
    latest: async () => {
      await within(looking.now(), OPTIONAL_ANSWER_MS, undefined)
      return known
    },
    stop: looking.stop,
  }
}
