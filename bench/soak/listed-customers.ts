import { isoSecond, generateCustomers, type ServiceCustomer } from '../../src/service/customers.ts'
import { below, pick, seededRandom, type Random } from '../../src/service/random.ts'
import { newcomers } from '../../src/service/scenarios/scenario.ts'
import { byName, movingList } from '../../src/service/scenarios/moving-list.ts'

/** When a customer was listed, in Unix milliseconds; `toMs` is infinite while it is. */
export type Stay = { fromMs: number; toMs: number }

/** The list of one organization, and all that was ever true of it. */
export type ListedCustomers = {
  rows: () => readonly ServiceCustomer[]
  /** Makes one change: a customer is new, returns, is changed or leaves. */
  change: (nowMs: number) => void
  /** The stays of each customer that was ever listed. */
  stays: ReadonlyMap<string, readonly Stay[]>
}

/** A list in order of creation, or by name, whose changes follow from the seed. */
export function listCustomers({
  seed,
  count,
  isByName,
  nowMs,
}: {
  seed: string
  count: number
  isByName: boolean
  nowMs: number
}): ListedCustomers {
  const random = seededRandom(`${seed} changes`)
  const newcomer = newcomers(seed)
  const customers = generateCustomers({ seed, count })
  const list = isByName ? movingList(customers.toSorted(byName), byName) : movingList(customers)
  const stays = new Map(customers.map(({ id }): [string, Stay[]] => [id, [{ fromMs: nowMs, toMs: Infinity }]]))
  const gone: ServiceCustomer[] = []

  const insert = (customer: ServiceCustomer, atMs: number): void => {
    list.insert(customer)
    stays.set(customer.id, [...(stays.get(customer.id) ?? []), { fromMs: atMs, toMs: Infinity }])
  }
  const leave = (customer: ServiceCustomer, atMs: number): void => {
    list.delete(customer.id)
    gone.push(customer)
    const stay = stays.get(customer.id)?.at(-1)
    if (stay !== undefined) stay.toMs = atMs
  }
  return {
    rows: list.rows,
    stays,
    change: (atMs) => {
      const some = list.rows()[below(random, list.rows().length)]
      const draw = below(random, 10)
      if (draw < 3) insert(newcomer(isoSecond(atMs)), atMs)
      else if (draw < 7 && some !== undefined) list.change(edited(some, random))
      else if (draw < 8 && gone.length > 0) insert(...returning(gone, random, atMs))
      else if (some !== undefined) leave(some, atMs)
    },
  }
}

function returning(gone: ServiceCustomer[], random: Random, atMs: number): [ServiceCustomer, number] {
  const [customer] = gone.splice(below(random, gone.length), 1)
  if (customer === undefined) throw new Error('No customer has left')
  return [customer, atMs]
}

/** The customer with one field changed, which is not the one that lists are sorted by. */
function edited(customer: ServiceCustomer, random: Random): ServiceCustomer {
  const number = below(random, 1_000_000)
  const field = pick(random, ['phone', 'address', 'company_name', 'email'] as const)
  const value = field === 'email' ? `moved.${number}.${customer.username}@example.com` : `${customer[field]} ${number}`
  return { ...customer, [field]: value }
}
