import type { Certificate } from '../../src/scan/scan.ts'
import { listScan } from '../../src/scan/list-scan.ts'
import { type Window, type WindowAnswer } from '../../src/scan/window.ts'
import { dice } from './dice.ts'
import { drive, type Ride, type Service } from './drive-scan.ts'
import { type ListOrder, SimulatedList } from './simulated-list.ts'

/** The length of the list. */
export const ROWS = 950

/** What a service answers to a request. */
export type Answer = ReturnType<Service['answer']>

/** What a service answers in the place of what it should. */
export type Misbehaviour = (list: SimulatedList, window: Window, answered: number) => Answer

type Result = Ride & { certificate: Certificate; lost: number }

/** Scans the list of a service that misbehaves; `lost` counts the rows that were always listed and not read. */
export function scanOf(
  misbehave: Misbehaviour,
  { parallel = 1, order = 'id asc', plain = false }: { parallel?: number; order?: ListOrder; plain?: boolean } = {},
): Result {
  const luck = dice(7)
  const list = new SimulatedList(luck, { size: ROWS, order })
  const scan = plain ? listScan({ isPlain: true }) : listScan()
  let answered = 0
  const ride = drive(scan, { answer: (window) => misbehave(list, window, answered++) }, { dice: luck, parallel })
  const lost = list.survivors().filter((id) => !ride.ids.has(id)).length
  return { ...ride, certificate: scan.certificate(), lost }
}

/** What a 404 is to a scan. */
export function notFound(window: Window): WindowAnswer {
  return { window, rows: [], total: undefined, perPage: window.size, beyondEnd: true }
}
