import { expect, test } from 'vitest'
import { seeds } from '../support/seeds.ts'
import { NIGHTLY_ORDERS, playNights, type SimulatedNight } from '../support/simulated-nights.ts'

/** Histories of each order, three nights each: all of them in a deep run. */
const HISTORIES = seeds(20_000, { every: 600 })
/** The requests of a scan: three plain readings, and some for what a short list needs as well. */
const SOME_MORE = 40

test.each(NIGHTLY_ORDERS)(
  '%s: no night is proven or settled against its definition, none removes a listed customer, and none asks for too much',
  (order) => {
    const grades = new Map<string, number>()
    let [requests, plain] = [0, 0]
    for (let seed = 1; seed <= HISTORIES; seed += 1) {
      for (const [index, night] of playNights(order, seed).entries()) {
        const { proof } = night.certificate
        grades.set(proof, (grades.get(proof) ?? 0) + 1)
        requests += night.requests
        plain += night.plain
        expect({ seed, night: index + 1, ...faultsOf(night) }).toEqual({ seed, night: index + 1, ...NO_FAULTS })
      }
    }
    const said = [...grades].map(([grade, count]) => `${grade} ${count}`).join(', ')
    console.log(`${order}: ${HISTORIES} histories: ${said}; ${(requests / plain).toFixed(2)} times the plain requests`)
  },
  // On a busy machine the whole of one order took twelve minutes.
  3_600_000,
)

const NO_FAULTS = { against: [], wronglyRemoved: 0, isTooDear: false }

function faultsOf({ certificate, lost, againstSettled, wronglyRemoved, requests, plain }: SimulatedNight) {
  const { proof } = certificate
  return {
    against: proof === 'settled' ? againstSettled : proof === 'proven' && lost > 0 ? [`${lost} unread`] : [],
    wronglyRemoved,
    // The list may have grown since, and a reading that was killed begins anew.
    isTooDear: requests > 2 * (3 * plain + SOME_MORE),
  }
}
