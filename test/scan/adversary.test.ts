import { expect, test } from 'vitest'
import { AdversaryList, type OrderName, ORDERS } from '../support/adversary-list.ts'
import { type AdversaryNight, Tonight } from '../support/adversary-night.ts'
import { type Behaviour, type Fault, type Habit, HABITS, type Rates } from '../support/adversary-service.ts'
import { type Dice, dice as diceOf } from '../support/dice.ts'
import { seeds } from '../support/seeds.ts'

/** Lists of each part, each with five nights. */
const LISTS = seeds(400, { every: 20 })

test('whatever a service does, every scan ends within its budget, and its certificate holds', () => {
  for (let seed = 1; seed <= LISTS; seed += 1) expectToHold(seed)
})

test('the same holds where rows move to the top, and pages fail', () => {
  const orders = ['last change first', 'last change first'] as const
  for (let seed = 1; seed <= LISTS / 4; seed += 1) {
    expectToHold(1_000_000 + seed, { orders, size: 200 + (seed % 400), turns: 'never' })
  }
})

/**
 * A proven list that never moves its customers lacks none. No list, proven or settled, lacks a customer who kept their place, unless
 * all customers that two pages share have moved.
 */
function expectToHold(seed: number, given: Parameters<typeof playAdversary>[1] = {}): void {
  const { plan, nights } = playAdversary(seed, given)
  for (const { night, certificate, faults, lost, lostInPlace, isSteady } of nights) {
    const { proof, basis } = certificate
    const isClaimed = proof === 'proven' || proof === 'settled'
    const missing = proof === 'proven' && isSteady ? lost : isClaimed ? lostInPlace : []
    expect({ seed, plan, night, proof, basis, faults, missing }).toMatchObject({ faults: [], missing: [] })
  }
}

/** When the list changes to its second order: never, every second night, in the fourth night, or within some nights. */
const TURNS = ['never', 'never', 'never', 'nightly', 'once', 'within'] as const

type AdversaryPlan = {
  pageSize: number
  orders: readonly [OrderName, OrderName]
  turns: (typeof TURNS)[number]
  size: number
  habit: Habit
  parallel: number
}

/** Five nights of one list, played by its seed with all that is remembered from night to night. */
function playAdversary(
  seed: number,
  given: Partial<AdversaryPlan> = {},
): { plan: AdversaryPlan; nights: AdversaryNight[] } {
  const dice = diceOf(seed)
  const plan = { ...somePlan(dice), ...given }
  const { orders, turns, size, habit } = plan
  const undated = dice.chance(0.1) ? 0.1 : 0
  const withoutId = dice.chance(0.05) ? 0.05 : 0
  const list = new AdversaryList(dice, orders[0], { size, undated, withoutId })
  const [usual, fault] = [someRates(dice), someFault(dice)]
  const nights: AdversaryNight[] = []
  for (let night = 1; night <= 5; night += 1) {
    if (night > 1) passDay(list, dice)
    const other = orders[(night - 1) % 2] ?? orders[0]
    if (turns === 'nightly' && night > 1) list.reorder(other)
    if (turns === 'once' && night === 4) list.reorder(orders[1])
    const turnAt = turns === 'within' && dice.chance(0.5) ? { answer: dice.below(30), order: other } : undefined
    const rates = dice.chance(0.6) ? usual : someRates(dice)
    const behaviour: Behaviour = { rates, fault, habit, turnAt, night }
    const stopAfter = dice.chance(0.2) ? 1 + dice.below(20) : undefined
    nights.push(new Tonight({ ...plan, dice, list, behaviour, stopAfter }).play())
  }
  return { plan, nights }
}

function somePlan(dice: Dice): AdversaryPlan {
  const one = <Choice>(choices: readonly [Choice, ...Choice[]]): Choice =>
    choices[dice.below(choices.length)] ?? choices[0]
  const pageSize = one([10, 11, 12, 16, 20, 25, 40, 100])
  return {
    pageSize,
    orders: [one(ORDERS), one(ORDERS)],
    turns: one(TURNS),
    size: dice.below(Math.min(1200, pageSize * (1 + dice.below(20)))),
    habit: dice.chance(0.4) ? 'honest' : one(HABITS),
    parallel: 1 + dice.below(dice.chance(0.5) ? 2 : 8),
  }
}

function someRates(dice: Dice): Rates {
  const level = [0, 0, 0.05, 0.3, 1, 3][dice.below(6)] ?? 0
  const some = (): number => (dice.chance(0.6) ? level * dice.next() : 0)
  return { insert: some(), delete: some(), edit: some(), bulk: dice.chance(0.1) ? 0.03 : 0 }
}

function someFault(dice: Dice): Fault {
  const some = (most: number): number => (dice.chance(0.12) ? most * dice.next() : 0)
  const sizes = dice.chance(0.08) ? [10, 25, 50, 100] : undefined
  const totalOff = dice.chance(0.05) ? dice.below(7) - 3 : 0
  return { short: some(0.1), cached: some(0.2), hole: some(0.05), twice: some(0.05), totalOff, sizes }
}

function passDay(list: AdversaryList, dice: Dice): void {
  for (let left = dice.below(30); left > 0; left -= 1) {
    if (dice.chance(0.2)) list.insert()
    if (dice.chance(0.2)) list.delete()
    if (dice.chance(0.6)) list.edit()
  }
}
