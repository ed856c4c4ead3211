import type { Sandbox } from '../../src/service/sandbox.ts'

/** The true state of a list of a sandbox, whatever the service answered. */
export type Truth = ReturnType<typeof watchTruth>

type Row = Sandbox['organizations'][number]['customers'][number]

/** Scenarios that show all customers in another order in every answer. */
const ARRANGED_ANEW: ReadonlySet<string> = new Set(['ties', 'unstable', 'shuffle'])

/** Watches the list of an organization from its start on: readers of the list are judged by it. Ids that are never sent are left out. */
export function watchTruth({ customers: atStart, list }: Sandbox['organizations'][number], scenario: string) {
  const isNameless = (place: number) => scenario === 'mixed-types' && place % 50 === 49
  const nameless = new Set(atStart.flatMap((customer, place) => (isNameless(place) ? [customer.id] : [])))
  const sameSecond = Map.groupBy(atStart, (customer) => customer.created_at)
  const isImported = ({ created_at }: Row) => (sameSecond.get(created_at)?.length ?? 0) > 1
  const isRestless = scenario === 'import-of-one-second' ? isImported : () => ARRANGED_ANEW.has(scenario)
  const rows = list.rows()
  // A customer that is not in it was listed from the start.
  const arrivals = new Map<string, number>()
  const moves = new Map<string, number>()
  let changes = 0
  const { insert, change } = list
  list.insert = (customer) => {
    insert(customer)
    arrivals.set(customer.id, (changes += 1))
  }
  list.change = (customer) => {
    const placeNow = () => rows.findIndex(({ id }) => id === customer.id)
    const before = placeNow()
    change(customer)
    if (placeNow() !== before) moves.set(customer.id, (changes += 1))
  }
  const lived = (since: number) =>
    new Set(rows.flatMap((row) => ((arrivals.get(row.id) ?? 0) <= since ? [row.id] : []))).difference(nameless)
  const restless = () => new Set(rows.flatMap((row) => (isRestless(row) ? [row.id] : [])))
  const moved = (since: number) =>
    new Set([...moves].flatMap(([customer, at]) => (at > since ? [customer] : [])))
      .difference(nameless)
      .union(restless())
  return {
    /** The moment, as the number of changes until then. */
    mark: () => changes,
    /** Ids listed without a break from the mark until now. */
    lived,
    /** Those of them that kept their place among the others of them; customers that are arranged anew keep none. */
    stayed: (since: number) => lived(since).difference(moved(since)),
    /** Ids that moved since the mark, including those that left. */
    moved,
    listed: () => new Set(rows.map((row) => row.id)).difference(nameless),
  }
}
