import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Mirror } from '../../src/model/mirror.ts'
import type { Proof } from '../../src/model/report.ts'
import { changes, DAY_MS, type Fate, fatesOf, night, quickRun } from './nights.ts'
import { aCustomer, customerId, customers, START_MS } from '../support/builders.ts'
import { aMirror } from '../support/mirror-file.ts'
import { seeds } from '../support/seeds.ts'

const KNOWN = [1, 2, 3, 4, 5, 6]

const aNight = fc.record({
  /** What comes of each customer; the last one is always listed, so that the list is never empty. */
  comes: fc.tuple(...KNOWN.map(() => fc.constantFrom<Comes>('listed', 'listed', 'absent', 'absent', 'rejected'))),
  proof: fc.constantFrom<Proof | 'whole'>('proven', 'proven', 'settled', 'whole', 'unproven'),
  confirmed: fc.subarray(KNOWN),
  /** What a quick run after that night finds; without it, there is none. */
  quick: fc.option(fc.record({ gone: fc.subarray(KNOWN), listed: fc.subarray(KNOWN) }), { nil: undefined }),
})

/** Listed every night, so that no night lacks all customers that were listed before: those who return are not among them. */
const ALWAYS = KNOWN.map((n) => 1000 + n)

type QuickRun = { gone: number[]; listed: number[] }

type Comes = 'listed' | 'absent' | 'rejected'

test('over any nights and quick runs, every customer is missing and removed exactly by the rules', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(aNight, { maxLength: 12 }), async (after, nights) => {
      const mirror = await aMirror()
      const model = KNOWN.map((n) => new Modelled(n, after))
      await night(mirror, 0, records(KNOWN.map(() => 'listed')))

      for (const [index, { comes, proof, confirmed, quick }] of nights.entries()) {
        const before = model.map(({ fate }) => fate)
        const report = await night(mirror, index + 1, records(comes), {
          ...(proof === 'whole' ? { proof: 'unproven', isWhole: true } : { proof }),
          rule: { after, maxShare: 0 },
          confirmed: confirmed.map(customerId),
        })
        for (const [place, customer] of model.entries()) {
          customer.pass(comes[place] ?? 'absent', proof, confirmed.includes(customer.n))
        }

        expect(fatesOf(mirror, KNOWN)).toEqual(model.map(({ fate }) => fate))
        const counted = model.filter((customer, place) => customer.marked && before[place] !== 'removed')
        expect(report).toMatchObject({
          held: 0,
          missing: counted.filter(({ fate }) => fate === 'missing').length,
          removed: counted.filter(({ fate }) => fate === 'removed').length,
          returned: before.filter((fate, place) => fate === 'removed' && model[place]?.fate === 'listed').length,
        })
        if (quick === undefined) continue
        const received = [...quick.listed, ...ALWAYS].map((n) => aCustomer(n))
        await quickRun(mirror, index + 1, received, { gone: quick.gone })
        for (const customer of model) customer.passQuickRun(quick)
        expect(fatesOf(mirror, KNOWN)).toEqual(model.map(({ fate }) => fate))
      }
      for (const { n, history } of model) {
        const told = changes(mirror).filter(([id]) => id === customerId(n))
        expect(told.map(([, change]) => change)).toEqual(history)
      }
    }),
    { numRuns: seeds(200, { least: 3, every: 80 }) },
  )
})

/** One customer as the rules have it. */
class Modelled {
  readonly n: number
  readonly #after: number
  fate: Fate = 'listed'
  history: ('removed' | 'returned')[] = []
  /** Whether the last night marked it missing or removed. */
  marked = false
  #proven = 0
  #scans = 0
  #whole = 0
  /** Whether its record was a reject when it came last. */
  #isRejected = false

  constructor(n: number, after: number) {
    this.n = n
    this.#after = after
  }

  pass(comes: Comes, proof: Proof | 'whole', confirmed: boolean): void {
    this.marked = false
    // After a scan that proves nothing, the reject of a record that did not come stays open.
    if (comes !== 'absent' || proof === 'proven' || proof === 'settled') this.#isRejected = comes === 'rejected'
    if (comes !== 'absent') return this.#isSeen()
    if (proof === 'unproven' || this.fate === 'removed') return
    this.#whole += 1
    if (proof !== 'whole') this.#scans += 1
    if (proof === 'proven') this.#proven += 1
    const isProven = proof === 'proven' && this.#proven >= this.#after
    const often = isProven || (confirmed && (this.#scans >= this.#after || this.#whole > this.#after))
    this.marked = true
    this.fate = often ? 'removed' : 'missing'
    if (often) this.history.push('removed')
  }

  /** A quick run that did not receive a customer counts no absence, and removes none. It does not know where the record of a reject stands. */
  passQuickRun({ gone, listed }: QuickRun): void {
    if (listed.includes(this.n)) {
      this.#isRejected = false
      this.#isSeen()
    } else if (gone.includes(this.n) && this.fate === 'listed' && !this.#isRejected) this.fate = 'missing'
  }

  #isSeen(): void {
    if (this.fate === 'removed') this.history.push('returned')
    this.fate = 'listed'
    this.#proven = 0
    this.#scans = 0
    this.#whole = 0
  }
}

/** The list of a night; one more customer keeps it from ever being empty. */
function records(came: readonly Comes[]): unknown[] {
  const listed = came.flatMap((how, place) => {
    if (how === 'absent') return []
    return [aCustomer(place + 1, how === 'rejected' ? { name: ['Two', 'Names'] } : {})]
  })
  return [...listed, ...ALWAYS.map((n) => aCustomer(n))]
}

const GROUPS = [0, 1, 2, 3, 4, 5]
const RULE = { after: 2, maxShare: 0.4 }

const aGuardedNight = fc.record({
  listed: fc.subarray(GROUPS),
  proof: fc.constantFrom('proven' as const, 'proven' as const, 'unproven' as const),
  /** Who is listed in a quick run after that night; without it, there is none. */
  quick: fc.option(fc.subarray(GROUPS), { nil: undefined }),
  decision: fc.constantFrom('approve' as const, 'discard' as const, 'wait' as const, 'wait' as const),
})

test('over any nights, quick runs and decisions, absences are held exactly where too many of those listed before are absent', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(2, 3, 8, 11), fc.array(aGuardedNight, { maxLength: 6 }), async (size, nights) => {
      const mirror = await aMirror()
      const model = new Guarded(size)
      await night(mirror, 0, groupRecords(GROUPS, size))
      model.pass(GROUPS)

      for (const [index, { listed, proof, quick, decision }] of nights.entries()) {
        const { runId = 0, held } = await night(mirror, index + 1, groupRecords(listed, size), { proof, rule: RULE })
        model.pass(listed, { isProven: proof === 'proven' })
        if (proof === 'proven') expect(held).toBe(model.holding * size)
        if (quick !== undefined) {
          await quickRun(mirror, index + 1, groupRecords(quick, size))
          model.passQuickRun(quick)
        }
        expect(groupFates(mirror, size)).toEqual(model.fates)
        const [waiting] = await mirror.listHeldRemovals()
        expect(waiting?.held ?? 0).toBe(model.held.size * size)
        if (waiting === undefined || decision === 'wait') continue
        if (decision === 'approve') await mirror.approveRemovals(waiting.runId, START_MS + (index + 1) * DAY_MS)
        else await mirror.discardRemovals(waiting.runId)
        model.decide(decision)
        expect(runId).toBeGreaterThanOrEqual(waiting.runId)
        expect(groupFates(mirror, size)).toEqual(model.fates)
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

function groupRecords(groups: readonly number[], size: number): unknown[] {
  return groups.flatMap((group) => customers(group * size + 1, (group + 1) * size))
}

/** What became of the first and the last customer of each group, which is the same. */
function groupFates(mirror: Mirror, size: number): Fate[] {
  const last = fatesOf(
    mirror,
    GROUPS.map((group) => (group + 1) * size),
  )
  const first = GROUPS.map((group) => group * size + 1)
  expect(fatesOf(mirror, first)).toEqual(last)
  return last
}
