import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Mirror } from '../../src/store/mirror.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { DAY_MS } from '../store/nights.ts'
import { aCustomer, type SentRecord, START_MS } from '../support/builders.ts'
import { type Dice, dice } from '../support/dice.ts'
import { mirroring } from '../support/listed-source.ts'
import { aMirror, rowsOf } from '../support/mirror-file.ts'
import {
  BROKEN,
  OUTAGES,
  type SearchedService,
  searchedSource,
  type SearchKind,
  WORKING,
} from '../support/mirrored-sandbox.ts'
import { seeds } from '../support/seeds.ts'

const SEARCHES = {
  working: Object.values(WORKING),
  failing: Object.values(OUTAGES),
  broken: Object.values(BROKEN),
} satisfies Record<string, SearchKind[]>

test.each<[string, (random: Dice, states: (readonly SentRecord[])[]) => SearchedService]>([
  [
    'lists that hide customers, no customer is removed that a search would find',
    (random, states) => {
      const listed = states.at(-1) ?? []
      const shown = random.chance(0.5) ? hiding(listed, random) : listed
      return { shown, listed, search: random.pick(random.chance(0.3) ? SEARCHES.failing : SEARCHES.working) }
    },
  ],
  [
    'replicas that stopped, and search no better, no listed customer is removed',
    (random, states) => {
      const shown = random.chance(0.5) ? random.pick(states) : (states.at(-1) ?? [])
      return { shown, search: random.pick([...SEARCHES.working, ...SEARCHES.broken]) }
    },
  ],
])('over random nights of %s', async (_, tonight) => {
  const nights = async (seed: number) => {
    const random = dice(seed)
    const mirror = await aMirror()
    const service = aService(random)
    const states = [service.listed()]
    await night(mirror, 0, { shown: service.listed() })
    for (let n = 1; n <= 12; n += 1) {
      service.passDay(n)
      states.push(service.listed())
      const report = await night(mirror, n, tonight(random, states))

      expect(wronglyRemoved(mirror, service.listed())).toEqual([])
      expect(report.status).toBe('complete')
    }
    await expectToConverge(mirror, service)
  }
  await fc.assert(fc.asyncProperty(fc.nat(), nights), { numRuns: seeds(30, { least: 2, every: 20 }) })
})

/** A list to which customers come, each later than those before, and which some leave for good. */
function aService(random: Dice) {
  let count = 0
  const join = (n: number) => {
    count += 1
    return aCustomer(count, { created_at: new Date(START_MS + n * DAY_MS + count * 1000).toISOString() })
  }
  let list: SentRecord[] = Array.from({ length: 5 + random.below(40) }, () => join(-100))
  return {
    listed: () => list,
    passDay(n: number) {
      list = list.filter(() => !random.chance(0.05))
      for (let more = random.below(4); more > 0; more -= 1) list = [join(n), ...list]
    },
    join(n: number) {
      list = [join(n), ...list]
    },
  }
}

/** After some nights of the whole list, each with a new customer, the mirror holds exactly those who are listed. */
async function expectToConverge(mirror: Mirror, service: ReturnType<typeof aService>): Promise<void> {
  for (const n of [20, 21, 22]) {
    service.join(n)
    await night(mirror, n, { shown: service.listed() })
  }
  const active = rowsOf(mirror.file, 'SELECT id FROM active_customers WHERE missing_since IS NULL ORDER BY id')
  expect(active).toHaveLength(service.listed().length)
  expect(rowsOf(mirror.file, 'SELECT id FROM active_customers ORDER BY id')).toEqual(active)
  expect(new Set(active.map(({ id }) => id))).toEqual(new Set(service.listed().map(({ id }) => id)))
}

async function night(mirror: Mirror, n: number, service: SearchedService) {
  const { source } = searchedSource(service)
  const now = () => START_MS + n * DAY_MS
  const removals = { after: 2, maxShare: 1 }
  const { report } = await mirrorOrganization(
    mirroring(mirror, source, { scan: 'chain', pageSize: 100, now, removals }),
  )
  return report
}

function wronglyRemoved(mirror: Mirror, listed: readonly SentRecord[]): unknown[] {
  const removed = rowsOf(mirror.file, 'SELECT id FROM customers WHERE removed_at IS NOT NULL').map(({ id }) => id)
  return listed.map(({ id }) => id).filter((id) => removed.includes(id))
}

function hiding(list: readonly SentRecord[], random: Dice): SentRecord[] {
  const shown = list.filter(() => !random.chance(0.15))
  return shown.length === 0 ? [...list] : shown
}
