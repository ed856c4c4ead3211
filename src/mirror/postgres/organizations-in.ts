/**
 * The names of the organizations in a table, for WITH RECURSIVE: one seek in an index for each, since a table may have millions of rows of
 * a few organizations. PostgreSQL by itself would read all of them.
 */
export function organizationsIn(table: 'runs' | 'customers'): string {
  const first = (condition: string) =>
    `SELECT ${table}.organization FROM ${table} ${condition} ORDER BY ${table}.organization LIMIT 1`
  return `organizations (organization) AS (
    (${first('')})
    UNION ALL
    SELECT (${first(`WHERE ${table}.organization > organizations.organization`)})
    FROM organizations WHERE organizations.organization IS NOT NULL
  )`
}
