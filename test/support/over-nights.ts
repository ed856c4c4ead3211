import { expect } from 'vitest'
import { type NightlyOrder, type NightRead, playNights } from './remembered-nights.ts'

/** Plays the nights of so many lists; the list and night that break the promise are in the message of what fails. */
function overNights(order: NightlyOrder, lists: number, promise: (read: NightRead) => void): NightRead[] {
  const reads: NightRead[] = []
  for (let seed = 0; seed < lists; seed += 1) {
    for (const read of playNights(order, seed)) {
      try {
        promise(read)
      } catch (error) {
        throw new Error(`playNights('${order}', ${seed}), night ${read.night}`, { cause: error })
      }
      reads.push(read)
    }
  }
  console.log(`${order}: ${lists} lists: ${counted(reads)}`)
  return reads
}

/** No scan is proven by the order as last read with a customer missing who was listed throughout. */
export function expectNoFalseProof(order: NightlyOrder, lists: number): NightRead[] {
  return overNights(order, lists, (read) => {
    if (isRemembered(read)) expect(read.lost).toBe(0)
  })
}

/**
 * A hidden number that has not changed for two nights may change in the third for the first time, which shows nowhere: the customer
 * who moves then may be missed, and no other. That must be rare.
 */
export function expectRareFalseProof(order: NightlyOrder, lists: number): void {
  const reads = overNights(order, lists, (read) => {
    if (isRemembered(read)) expect(read.lostInPlace).toBe(0)
  })
  const wrong = reads.filter((read) => isRemembered(read) && read.lost > 0)
  expect(wrong.length * 5000).toBeLessThan(reads.length)
}

export function isRemembered({ certificate }: NightRead): boolean {
  return certificate.basis === 'remembered order'
}

function counted(reads: readonly NightRead[]): string {
  const counts = new Map<string, number>()
  for (const { certificate, lost } of reads) {
    const kind = [certificate.proof, certificate.basis, lost > 0 && 'with customers missing'].filter(Boolean).join(' ')
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return [...counts].map(([kind, count]) => `${kind} ${count}`).join(', ')
}
