import type { Sandbox } from '../../src/service/sandbox.ts'
import { scenarioNamed } from '../../src/service/scenarios/scenarios.ts'

/** The true state of a list of a sandbox, whatever the service answered. */
export type Truth = ReturnType<typeof watchTruth>

/** Watches the list of an organization from its start on: readers of the list are judged by it. Ids that are never sent are left out. */
export function watchTruth({ customers: atStart, list }: Sandbox['organizations'][number], scenario: string) {
  const { keepsPlace = () => true, isNameless } = scenarioNamed(scenario)
  const places = new Map(atStart.map((customer, place) => [customer.id, place]))
  const nameless = new Set(atStart.flatMap((customer, place) => (isNameless?.(place) === true ? [customer.id] : [])))
  const rows = list.rows()
  // A customer that is not in it was listed from the start.
  const arrivals = new Map<string, number>()
  const moves = new Map<string, number>()
  let changes = 0
  list.watch((customer, change) => {
    changes += 1
    const seen = change === 'arrived' ? arrivals : moves
    seen.set(customer, changes)
  })
  const lived = (since: number) =>
    new Set(rows.flatMap((row) => ((arrivals.get(row.id) ?? 0) <= since ? [row.id] : []))).difference(nameless)
  const restless = () => new Set(rows.flatMap((row) => (keepsPlace(row, { places }) ? [] : [row.id])))
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
