/** The views of a mirror, which are made anew where someone dropped them. */
export const VIEWS = ['active_customers', 'customers_daily', 'customers_history', 'freshness'] as const

/** The statements that make views, by the names of the views. A later statement for the same view counts. */
export function viewsMadeBy(sql: string): ReadonlyMap<string, string> {
  const made = sql.matchAll(/^CREATE VIEW (\w+) AS\n[^]*?;$/gm)
  return new Map(Array.from(made, ([statement, name = '']) => [name, statement]))
}

/** The sentence about a view that is not there. */
export function viewMissing(name: string, maker = 'the next sync'): string {
  return `the view ${name} is not there; ${maker} makes it anew`
}
