import { expect, test } from 'vitest'
import { mirrorOrganization } from '../src/mirror-organization.ts'
import { aCustomer, START_MS, type SentRecord } from './support/builders.ts'
import { dice } from './support/dice.ts'
import { pageOfList, sourceOf } from './support/listed-source.ts'
import { aMirror } from './support/mirror-file.ts'
import { mirroring } from './support/mirroring.ts'

/** Ninety customers in an order that no field shows. */
function inNoOrder(): SentRecord[] {
  const chance = dice(3)
  return Array.from({ length: 90 }, (_, index) => ({ record: aCustomer(index + 1), at: chance.next() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ record }) => record)
}

/** One left from the pages read, one came behind them, and one moved from there to the pages read: their numbers are as before. */
function changed(list: readonly SentRecord[]): SentRecord[] {
  const moved = list[70]!
  const rest = list.filter((record) => record !== moved && record !== list[4])
  return [...rest.slice(0, 8), moved, ...rest.slice(8, 60), aCustomer(91), ...rest.slice(60)]
}

/** Reads the list with a pause before its fourth page. */
async function readPaused(pauseMs: number, after: readonly SentRecord[]) {
  const before = inNoOrder()
  let nowMs = START_MS
  let asked = 0
  const source = sourceOf(async (window) => {
    asked += 1
    if (asked === 4) nowMs += pauseMs
    return pageOfList(asked < 4 ? before : after, window)
  })
  const settings = { scan: 'chain', concurrency: 1, now: () => nowMs } as const
  return (await mirrorOrganization(mirroring(await aMirror(), source, settings))).report
}

test('a list that looks as before after a pause of minutes is not proven by that', async () => {
  const report = await readPaused(600_000, changed(inNoOrder()))

  expect(report).toMatchObject({ status: 'complete', proof: 'settled', reasons: ['not-quiet'], requests: 17 })
})

test('after a pause of a second, a list that did not change is proven', async () => {
  const report = await readPaused(1000, inNoOrder())

  expect(report).toMatchObject({ status: 'complete', proof: 'proven', inserted: 90, requests: 16 })
})
