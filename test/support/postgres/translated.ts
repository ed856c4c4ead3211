/** Text and names in quotes, comments, parameters, and casts, which are no parameters. */
const PARTS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|::|\?|[@:]\w+|\browid\b/gi

/** The column by whose order SQLite returns rows as they were written. */
const ROW_NUMBERS: Record<string, string> = {
  runs: 'id',
  changes: 'seq',
  rejects: 'reject_id',
  customers: 'organization, row_id',
  forgotten: 'number',
  list_chunks: 'organization, chunk',
}

/** A statement that is written for SQLite, with its parameters, for PostgreSQL. */
export function translated(sql: string, given: unknown[]): { sql: string; parameters: unknown[] } {
  const [named] = given.filter((value) => isNamed(value))
  const positional = given.filter((value) => !isNamed(value))
  const parameters: unknown[] = []
  const add = (value: unknown) => `$${parameters.push(typeof value === 'boolean' ? Number(value) : value)}`
  const text = sql.replaceAll(PARTS, (part) => {
    if (part === '?') return add(positional.shift())
    if (/^[@:]\w/.test(part)) return add(named?.[part.slice(1)])
    if (part.toLowerCase() === 'rowid') return ROW_NUMBERS[/\bFROM (\w+)/i.exec(sql)?.[1] ?? ''] ?? '1'
    return part
  })
  return { sql: text, parameters }
}

function isNamed(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)
}
