import { generateCustomers, isoSecond } from '../customers.ts'
import type { ServiceCustomer } from '../customers.ts'
import { below } from '../random.ts'
import type { MovingList } from './moving-list.ts'
import type { Stage } from './scenario.ts'

/** Makes new customers, the same ones for the same seed. */
export function newcomers(seed: string): Stage['newcomer'] {
  let made = 0
  return (created_at) => {
    made += 1
    const [customer] = generateCustomers({ seed: `${seed} newcomer ${made}`, count: 1 })
    if (customer === undefined) throw new Error('No customer was made')
    const username = `${customer.username}.new${made}`
    return { ...customer, username, email: `${username}@example.com`, created_at }
  }
}

type Arriving = Pick<Stage, 'random' | 'newcomer'> & { list: MovingList }

/** Lists a customer anywhere, with a date between those of its neighbours, like an imported customer. */
export function arriveAnywhere({ list, random, newcomer }: Arriving): void {
  const rows = list.rows()
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const position = below(random, rows.length)
    const created = between(rows[position - 1], rows[position])
    if (created !== undefined) return list.insert(newcomer(created))
  }
  return arriveLast({ list, newcomer })
}

/** Lists a customer who was created after all the others. */
export function arriveLast({ list, newcomer }: Omit<Arriving, 'random'>): void {
  const latestMs = Date.parse(list.rows().at(-1)?.created_at ?? FIRST_DAY)
  list.insert(newcomer(isoSecond(latestMs + 60_000)))
}

/** A whole second between the dates of two customers; undefined if there is none. */
function between(before: ServiceCustomer | undefined, after: ServiceCustomer | undefined): string | undefined {
  if (after === undefined) return undefined
  const endMs = Date.parse(after.created_at)
  const startMs = before === undefined ? endMs - 7_200_000 : Date.parse(before.created_at)
  return endMs - startMs < 2000 ? undefined : isoSecond((startMs + endMs) / 2)
}

const FIRST_DAY = '2024-01-01T00:00:00.000000Z'
