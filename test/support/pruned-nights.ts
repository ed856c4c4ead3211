import type { Reckoning, Retention } from '../../src/model/run.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { aCustomer, customers, START_MS } from './builders.ts'
import { aMirror, rowsOf } from './mirror-file.ts'
import { DAY_MS, night } from '../store/nights.ts'

const FOREVER: Retention = {
  changesMs: undefined,
  resolvedRejectsMs: undefined,
  runsMs: undefined,
  removedCustomersMs: undefined,
}

type Limits = Partial<Retention>

/** Prunes the mirror as of the nth night, with what is not limited kept for ever. */
export async function prune(
  mirror: Mirror,
  limits: Limits,
  n: number,
  { isConfirmed = true }: Partial<Reckoning> = {},
) {
  return mirror.prune('acme', { ...FOREVER, ...limits }, { asOfMs: START_MS + n * DAY_MS, isConfirmed })
}

/** Four customers, of which the first has another name each night. */
export async function nightsOfRenames(nights: number): Promise<Mirror> {
  const mirror = await aMirror()
  for (let n = 0; n < nights; n += 1) await night(mirror, n, [aCustomer(1, { name: `Name ${n}` }), ...customers(2, 4)])
  return mirror
}

/** From when on the mirror has everything. */
export function horizon(mirror: Mirror): Record<string, unknown> | undefined {
  return rowsOf(mirror.file, `SELECT * FROM horizons WHERE organization = 'acme'`)[0]
}
