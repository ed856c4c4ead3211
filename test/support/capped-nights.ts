import { CappedList, type CappedNight, CAPS } from './capped-list.ts'
import { type Dice, dice } from './dice.ts'
import { IMMUTABLE_ORDERS, type ListOrder } from './simulated-list.ts'

const ORDERS: readonly ListOrder[] = [...IMMUTABLE_ORDERS, 'name', 'last change asc', 'last change desc', 'serial']
const NIGHTS = 3

/** The nights of which the certificate says more than was read: settled scans may miss customers who moved. */
export function wronglyCertified(count: number) {
  return playCapped(count)
    .map(({ seed, night, order, certificate: { proof }, lost, lostInPlace }) => {
      return { seed, night, order, proof, lost: proof === 'settled' ? lostInPlace : lost }
    })
    .filter(({ proof, lost }) => proof !== 'unproven' && lost > 0)
    .toArray()
}

/** Lists of about a thousand customers behind a cap of a thousand, changing while they are read, and between the nights. */
function* playCapped(count: number): Generator<CappedNight & { seed: number; night: number; order: ListOrder }> {
  for (let seed = 1; seed <= count; seed += 1) {
    const luck = dice(seed)
    const order = ORDERS[luck.below(ORDERS.length)] ?? 'name'
    const cap = CAPS[luck.below(CAPS.length)] ?? 'rows'
    const capped = new CappedList(seed, { size: 985 + luck.below(30), order })
    const churn = luck.next() ** 3 * 0.3
    for (let night = 1; night <= NIGHTS; night += 1) {
      const between = () => stir(luck, capped.list, churn)
      yield { seed, night, order, ...capped.night({ most: 1000, cap }, between) }
      for (let more = luck.below(6); more > 0; more -= 1) capped.list.insert()
      for (let more = luck.below(6); more > 0; more -= 1) capped.list.delete()
    }
  }
}

function stir(luck: Dice, list: CappedList['list'], churn: number): void {
  if (luck.chance(churn)) list.insert()
  if (luck.chance(churn)) list.delete()
  if (luck.chance(churn / 4)) list.move()
}
