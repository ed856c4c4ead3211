/**
 * The names of the organizations in a table, for WITH RECURSIVE: one seek in an index for each, since a table may have millions of rows of
 * a few organizations. PostgreSQL by itself would read all of them.
 */
export function organizationsIn(table: 'runs' | 'customers', name = 'organizations'): string {
  const first = (condition: string) =>
    `SELECT ${table}.organization FROM ${table} ${condition} ORDER BY ${table}.organization LIMIT 1`
  return `${name} (organization) AS (
    (${first('')})
    UNION ALL
    SELECT (${first(`WHERE ${table}.organization > ${name}.organization`)})
    FROM ${name} WHERE ${name}.organization IS NOT NULL
  )`
}
