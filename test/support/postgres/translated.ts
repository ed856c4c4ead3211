/** Text in quotes, names in quotes, comments and casts, which stay as they are; and all that PostgreSQL says in another way. */
const PARTS = new RegExp(
  [
    ...[String.raw`x'[0-9a-f]*'`, `'(?:[^']|'')*'`, `"(?:[^"]|"")*"`, String.raw`--[^\n]*`, '::', String.raw`\?`],
    ...[String.raw`[@:]\w+`, String.raw`\browid\b`, String.raw`\breplace into\b`],
    ...[String.raw`\bis not (?!null|true|false|distinct)`, String.raw`\bis (?!not|null|true|false|distinct)`],
  ].join('|'),
  'gi',
)

/** The column by whose order SQLite returns rows as they were written. */
const ROW_NUMBERS: Record<string, string> = {
  runs: 'id',
  changes: 'seq',
  rejects: 'reject_id',
  customers: 'organization, row_id',
  forgotten: 'number',
  leases: 'organization',
}

/** What a command of SQLite checks, where PostgreSQL has no such command. */
const CHECKS: Record<string, string> = {
  'PRAGMA integrity_check': `SELECT 'ok' AS integrity_check`,
  'PRAGMA foreign_key_check': ['customers.last_run_id', 'changes', 'rejects', 'windows', 'held_removals']
    .map((place) => place.split('.'))
    .map(
      ([table = '', column = 'run_id']) =>
        `SELECT '${table}' AS "table" FROM ${table} WHERE NOT EXISTS (SELECT FROM runs WHERE runs.id = ${table}.${column})`,
    )
    .join(' UNION ALL '),
}

/** A statement that is written for SQLite, with its parameters, for PostgreSQL. */
export function translated(sql: string, given: readonly unknown[]): { sql: string; parameters: unknown[] } {
  const check = CHECKS[sql.trim()]
  if (check !== undefined) return { sql: check, parameters: [] }
  const [named] = given.filter((value) => isNamed(value))
  const positional = given.filter((value) => !isNamed(value))
  const parameters: unknown[] = []
  const add = (value: unknown) => `$${parameters.push(typeof value === 'boolean' ? Number(value) : value)}`
  const isReplacing = /^\s*replace into\b/i.test(sql)
  const text = sql.replaceAll(PARTS, (part) => {
    if (part === '?') return add(positional.shift())
    if (/^[@:]\w/.test(part)) return add(named?.[part.slice(1)])
    if (/^x'/i.test(part)) return String.raw`'\x${part.slice(2, -1)}'::bytea`
    return IN_POSTGRES[part.trim().toLowerCase().replace(/\s+/, ' ')]?.(sql) ?? part
  })
  return { sql: isReplacing ? `${text} ON CONFLICT DO NOTHING` : text, parameters }
}

const IN_POSTGRES: Record<string, (sql: string) => string> = {
  rowid: (sql) => ROW_NUMBERS[/\bFROM (\w+)/i.exec(sql)?.[1] ?? ''] ?? '1',
  'replace into': () => 'INSERT INTO',
  'is not': () => 'IS DISTINCT FROM ',
  is: () => 'IS NOT DISTINCT FROM ',
}

function isNamed(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)
}
