import { expect, test } from 'vitest'
import { watchTruth } from '../bench/scoreboard/truth.ts'
import { SCENARIOS } from '../src/service/scenarios/scenarios.ts'
import { rowsOf, valueOf, aMirror } from './support/mirror-file.ts'
import { activeIds, syncSandbox } from './support/mirrored-sandbox.ts'
import { seeds, someOf } from './support/seeds.ts'
import { aSandbox } from './support/workplace.ts'
import { onThisMachine } from './support/eventually.ts'

/** What an unproven scan says, or in short the grade of the scans; `mayFail` where the service is unreadable, `isWhole` where only a few customers are lacking. */
type End = 'proven' | 'settled' | { reason?: string; mayFail?: true; isWhole?: true }

const ENDS: Record<string, End> = {
  ...{ still: 'proven', insert: 'proven', delete: 'proven', 'insert-delete': 'proven', purge: 'proven' },
  ...{ move: 'settled', 'move-back': 'settled', heal: 'settled', 'hidden-order': 'settled', 'last-change': 'settled' },
  ...{ 'by-name-churn': 'settled', 'by-name-slow': 'settled', 'count-lies': 'proven' },
  ...{ ties: 'proven', 'import-of-one-second': 'proven', 'caps-50': 'proven', 'capped-anywhere': 'proven' },
  ...{ 'clamp-beyond-last': 'proven', '404-beyond-last': 'proven', 'empty-page': 'proven', 'short-page': 'proven' },
  ...{ 'wrong-page': 'proven', 'repeat-page': 'proven', 'flaky-500': 'proven', truncate: 'proven' },
  ...{ 'slow-drip': 'proven', throttle: 'proven', 'shared-throttle': 'proven' },
  ...{ 'clock-skew': 'proven', 'stale-cache': 'proven' },
  unstable: { reason: 'order-unstable', isWhole: true },
  shuffle: { reason: 'order-unstable', isWhole: true },
  'fixed-sizes': { reason: 'no-overlap' },
  'page-1-always': { reason: 'page-mismatch', mayFail: true },
  'page-1-renumbered': { reason: 'repeated-page', mayFail: true },
  'growing-last-page': { reason: 'page-cap', mayFail: true },
  'total-high': { reason: 'short-page' },
  'total-low': { reason: 'total-mismatch' },
  'capped-total': { reason: 'capped-total' },
  'swapped-accounts': {},
  'unequal-replicas': { reason: 'unequal-replicas' },
  'listed-twice': {},
  poison: { reason: 'hole' },
  'html-200': { mayFail: true },
  'mixed-types': { reason: 'rejected-without-id' },
}

/** Nights that are not like the first: all later ones of a scenario, or that of a number, in which more came unread than one seam explains. */
const LATER: Record<string, End> = {
  ...{ 'swapped-accounts': 'settled', 'html-200': 'proven' },
  'by-name-churn 3': { reason: 'total-mismatch', isWhole: true },
}

test('every scenario of the sandbox is played here', () => {
  expect(Object.keys(ENDS).toSorted()).toEqual(SCENARIOS.map(({ name }) => name).toSorted())
})

test.each(someOf(Object.keys(ENDS), { every: 16 }))('%s: none listed is lost by a proof, or removed', async (name) => {
  const isGrowing = name === 'growing-last-page'
  const isSlow = /throttle$|-slow$|^slow-/.test(name) || isGrowing
  const customers = isGrowing ? 200 : name === 'capped-total' ? 1050 : 350
  const sandbox = await aSandbox({ scenario: name, customers: [customers] })
  const mirror = await aMirror()
  // Only an answer that drips is to take longer than it may; any other comes, however slow the machine is for a moment.
  const requestTimeoutMs = name === 'slow-drip' ? onThisMachine(1000) : 60_000
  const truth = watchTruth(sandbox.organizations[0]!, name)

  for (let night = 1; night <= (isSlow ? 1 : seeds(3, { least: 2 })); night += 1) {
    const end = LATER[`${name} ${night}`] ?? ((night > 1 && LATER[name]) || ENDS[name])
    const { reason, mayFail, isWhole }: Exclude<End, string> = typeof end === 'object' ? end : {}
    const mark = truth.mark()
    const { report, error } = await syncSandbox(sandbox, mirror, { requestTimeoutMs })

    const lost = truth.lived(mark).difference(activeIds(mirror))
    if (report.proof === 'settled') expect(lost.intersection(truth.stayed(mark))).toEqual(new Set())
    else if (report.proof !== 'unproven') expect(lost).toEqual(new Set())
    const gone = isWhole === true ? 'removed_at IS NOT NULL' : 'missing_since IS NOT NULL OR removed_at IS NOT NULL'
    const ids = rowsOf(mirror.file, `SELECT id FROM customers WHERE ${gone}`).map(({ id }) => String(id))
    expect(truth.lived(mark).intersection(new Set(ids))).toEqual(new Set())
    expect({ night, proof: report.proof }).toEqual({ night, proof: typeof end === 'string' ? end : 'unproven' })
    if (mayFail !== true) expect({ status: report.status, error }).toEqual({ status: 'complete', error: undefined })
    if (report.status === 'complete' && reason !== undefined) expect(report.reasons).toContain(reason)
    if (report.proof === 'unproven') {
      expect(report.reasons).not.toEqual([])
      expect(report).toMatchObject({ ...(isWhole !== true && { missing: 0 }), removed: 0, held: 0 })
    }
    expect(report.requests).toBeLessThan(400)
    expect(valueOf(mirror.file, 'SELECT count(*) FROM leases')).toBe(0)
  }
})
