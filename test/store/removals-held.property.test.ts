import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { customerId, customers, START_MS } from '../support/builders.ts'
import { aMirror } from '../support/mirror-file.ts'
import { seeds } from '../support/seeds.ts'
import { DAY_MS, type Fate, fateOf, night, quickRun } from './nights.ts'

const GROUPS = [0, 1, 2, 3, 4, 5]
const RULE = { after: 2, maxShare: 0.4 }

const aNight = fc.record({
  listed: fc.subarray(GROUPS),
  proof: fc.constantFrom('proven' as const, 'proven' as const, 'unproven' as const),
  /** Who is listed in a quick run after that night; without it, there is none. */
  quick: fc.option(fc.subarray(GROUPS), { nil: undefined }),
  decision: fc.constantFrom('approve' as const, 'discard' as const, 'wait' as const, 'wait' as const),
})

test('over any nights, quick runs and decisions, absences are held exactly where too many of those listed before are absent', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(2, 3, 8, 11), fc.array(aNight, { maxLength: 6 }), async (size, nights) => {
      const mirror = await aMirror()
      const model = new Guarded(size)
      await night(mirror, 0, records(GROUPS, size))
      model.pass(GROUPS)

      for (const [index, { listed, proof, quick, decision }] of nights.entries()) {
        const { runId = 0, held } = await night(mirror, index + 1, records(listed, size), { proof, rule: RULE })
        model.pass(listed, { isProven: proof === 'proven' })
        if (proof === 'proven') expect(held).toBe(model.holding * size)
        if (quick !== undefined) {
          await quickRun(mirror, index + 1, records(quick, size))
          model.passQuickRun(quick)
        }
        expect(fatesOf(mirror, size)).toEqual(model.fates)
        const [waiting] = await mirror.listHeldRemovals()
        expect(waiting?.held ?? 0).toBe(model.held.size * size)
        if (waiting === undefined || decision === 'wait') continue
        if (decision === 'approve') await mirror.approveRemovals(waiting.runId, START_MS + (index + 1) * DAY_MS)
        else await mirror.discardRemovals(waiting.runId)
        model.decide(decision)
        expect(runId).toBeGreaterThanOrEqual(waiting.runId)
        expect(fatesOf(mirror, size)).toEqual(model.fates)
      }
    }),
    { numRuns: seeds(200, { least: 5, every: 40 }) },
  )
})

/** Groups of customers who come and leave together, as the rules have them. */
class Guarded {
  readonly #size: number
  fates: (Fate | undefined)[] = GROUPS.map(() => undefined)
  held = new Set<number>()
  /** How many groups the last night held back. */
  holding = 0
  /** Those whose removal was discarded and that were not listed since, and how many there were. */
  #discarded = new Set<number>()
  #named = 0
  #scans = GROUPS.map(() => 0)
  /** Those who came since the last night that held nothing back, and since the last night of all. */
  #came = new Set<number>()
  #cameSinceNight = new Set<number>()

  constructor(size: number) {
    this.#size = size
  }

  pass(listed: readonly number[], { isProven } = { isProven: true }): void {
    this.#receive(listed)
    const known = GROUPS.filter((group) => this.fates[group] === 'listed' || this.fates[group] === 'missing')
    const absent = known.filter((group) => !listed.includes(group))
    const isNew = this.held.size + this.#discarded.size > 0 ? this.#came : this.#cameSinceNight
    const before = known.filter((group) => !isNew.has(group)).length * this.#size
    this.#cameSinceNight.clear()
    this.holding = 0
    if (!isProven) return
    if (absent.length > 0 && isTooMuch(absent.length * this.#size, before, listed.length)) {
      this.holding = absent.length
      const lasts =
        this.#discarded.size > 0 && this.#discarded.size === this.#named && absent.length < 1.5 * this.#named
      if (lasts) return
      this.#discarded.clear()
      this.held = new Set(absent)
    } else {
      this.#came.clear()
      for (const group of absent) this.#miss(group)
    }
  }

  passQuickRun(listed: readonly number[]): void {
    this.#receive(listed)
  }

  decide(decision: 'approve' | 'discard'): void {
    if (decision === 'approve') for (const group of this.held) this.#remove(group)
    if (decision === 'discard') {
      this.#named = this.holding
      this.#discarded = new Set(this.held)
    }
    this.held.clear()
  }

  #receive(listed: readonly number[]): void {
    for (const group of listed) {
      if (this.fates[group] === undefined || this.fates[group] === 'removed') {
        this.#came.add(group)
        this.#cameSinceNight.add(group)
      }
      this.fates[group] = 'listed'
      this.#scans[group] = 0
      this.held.delete(group)
      this.#discarded.delete(group)
    }
  }

  #miss(group: number): void {
    this.fates[group] = 'missing'
    this.#scans[group] = (this.#scans[group] ?? 0) + 1
    if ((this.#scans[group] ?? 0) >= RULE.after) this.#remove(group)
  }

  #remove(group: number): void {
    this.fates[group] = 'removed'
    this.held.delete(group)
    this.#discarded.delete(group)
  }
}

function isTooMuch(absent: number, before: number, listed: number): boolean {
  if (listed === 0) return true
  return absent >= 3 && (absent >= before || (absent > 20 && absent > RULE.maxShare * before))
}

function records(groups: readonly number[], size: number): unknown[] {
  return groups.flatMap((group) => customers(group * size + 1, (group + 1) * size))
}

/** What became of the first and the last customer of each group, which is the same. */
function fatesOf(mirror: Parameters<typeof fateOf>[0], size: number): Fate[] {
  return GROUPS.map((group) => {
    const fate = fateOf(mirror, (group + 1) * size)
    expect(fateOf(mirror, group * size + 1), customerId(group * size + 1)).toBe(fate)
    return fate
  })
}
