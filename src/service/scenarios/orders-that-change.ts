import { below } from '../random.ts'
import type { Random } from '../random.ts'
import { movingList } from './moving-list.ts'
import type { MovingList, Order } from './moving-list.ts'
import type { Scenario, Stage } from './scenario.ts'
import { shuffled } from './shuffling.ts'

/** Customers swap places while the list is read. No customer is added or deleted. */
export const ORDERS_THAT_CHANGE: readonly Scenario[] = [
  {
    name: 'move',
    says: 'The list shows the latest change first, and at every second request a customer is changed and jumps to the front.',
    create: (stage) => {
      const list = unordered(stage, FIRST)
      return { list, before: ({ count }) => void (count % 2 === 0 && touch(list, stage, 'front')) }
    },
  },
  {
    name: 'move-back',
    says: 'The list shows the latest change last, and at every second request a customer is changed and falls to the end.',
    create: (stage) => {
      const list = unordered(stage, LAST)
      return { list, before: ({ count }) => void (count % 2 === 0 && touch(list, stage, 'end')) }
    },
  },
  {
    name: 'heal',
    says: 'At each request a customer jumps to the front, during one pass in pages of a hundred; then the list is at rest.',
    create: (stage) => {
      const list = unordered(stage, FIRST)
      const lastTurn = Math.max(4, Math.ceil(stage.customers.length / 100))
      const before = ({ count }: { count: number }): void => {
        if (count > 1 && count <= lastTurn) touch(list, stage, 'front')
      }
      return { list, before }
    },
  },
]

/** A list in an order that neither ids nor dates explain. */
function unordered({ customers, random }: Stage, order: Order): MovingList {
  return movingList(shuffled(customers, random()), order)
}

/** The customers do not show which of two was changed first; a new customer goes to one end. */
export const FIRST: Order = () => 1
const LAST: Order = () => -1

/** Changes any customer, who moves to that end of the list. */
export function touch(list: MovingList, { random, newcomer }: Stage, to: 'front' | 'end'): void {
  const touched = anyOf(list.rows(), random)
  if (touched === undefined) return
  const { phone } = newcomer(touched.created_at)
  list.move({ ...touched, phone }, to === 'front' ? 0 : list.rows().length)
}

export function anyOf<Row>(rows: readonly Row[], random: Random): Row | undefined {
  return rows[below(random, rows.length)]
}
