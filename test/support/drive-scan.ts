import type { Scan } from '../../src/scan/scan.ts'
import type { Window, WindowAnswer } from '../../src/scan/window.ts'
import type { Dice } from './dice.ts'

type Answer = WindowAnswer | 'hole' | 'size-refused' | 'page-mismatch' | 'repeated-page' | 'cached-answer' | 'too-large'
type Request = { window: Window; answer?: Answer }

export type Service = { answer(window: Window): Answer; between?(): void }

type Ride = { requests: number; ids: Set<string>; reads: WindowAnswer[] }

/** Answers the requests of a scan, several in any order, and hands the answers over in any other. It stops after `stopAfter` of them. */
export function drive(
  scan: Scan,
  service: Service,
  { dice, parallel = 1, stopAfter = Infinity }: { dice: Dice; parallel?: number; stopAfter?: number },
): Ride {
  const ride: Ride = { requests: 0, ids: new Set(), reads: [] }
  const underWay: Request[] = []
  while (!scan.done && ride.requests < stopAfter) {
    underWay.push(...scan.next(parallel - underWay.length).map((window) => ({ window })))
    if (scan.done) break
    const at = dice.below(underWay.length)
    const request = underWay[at]
    if (request === undefined) throw new Error('The scan is not done, nothing is under way, and it asks for nothing.')
    if (request.answer === undefined) {
      service.between?.()
      request.answer = service.answer(request.window)
      if (parallel > 1 && dice.chance(0.5)) continue
    }
    underWay.splice(at, 1)
    ride.requests += 1
    deliver(scan, request.window, request.answer, ride)
  }
  return ride
}

function deliver(scan: Scan, window: Window, answer: Answer, ride: Ride): void {
  if (typeof answer === 'string') return scan.failed(window, answer)
  for (const { id } of answer.rows) if (id !== undefined) ride.ids.add(id)
  ride.reads.push(answer)
  scan.read(answer)
}
