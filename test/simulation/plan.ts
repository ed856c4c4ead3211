import { dice as diceOf } from '../support/dice.ts'
import { DISK_FAULTS, ENDS } from './disk.ts'

/** What goes wrong in a night besides what a service does wrong by itself. */
const FAULTS = [
  ...DISK_FAULTS,
  ...(['stopped', 'frozen', 'second program', 'replaced', 'clock jumps', 'queue forgets', 'queue is away'] as const),
  ...(['service lies', 'replica stops', 'customers hidden', 'search fails'] as const),
]
export type FaultKind = (typeof FAULTS)[number]

/** A fault of one night; `moment` from 0 to 1 says when. */
export type Fault = { readonly night: number; readonly kind: FaultKind; readonly moment: number }

/** The last nights of a world are calm: in them everything has to become current again. */
export const CALM_NIGHTS = 2

export function planOf(seed: number, nights: number): Fault[] {
  const dice = diceOf(seed ^ 0x0f_a1_75)
  const faults: Fault[] = []
  for (let night = 2; night <= nights - CALM_NIGHTS; night += 1)
    for (let left = dice.pick([0, 1, 1, 2, 3]); left > 0; left -= 1)
      faults.push({ night, kind: dice.pick(FAULTS), moment: dice.next() })
  return faults
}

/** Faults that a mirror on a server meets too: it flushes by itself, and its leases follow its own clock. It may refuse a commit, or lose the answer. */
export function onServer(faults: readonly Fault[]): Fault[] {
  return faults.filter(({ kind }) => !ONLY_IN_FILES.has(kind))
}

const ONLY_IN_FILES: ReadonlySet<string> = new Set([...ENDS, 'frozen', 'second program', 'replaced'])

/** The faults that suffice for `fails`: one after the other is left out, as long as it fails without it. */
export async function shrunk(faults: readonly Fault[], fails: (fewer: readonly Fault[]) => Promise<boolean>) {
  let needed = [...faults]
  for (let size = Math.ceil(needed.length / 2); size > 0; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = 0; at < needed.length;) {
      const fewer = needed.toSpliced(at, size)
      if (await fails(fewer)) needed = fewer
      else at += size
    }
  return needed
}
