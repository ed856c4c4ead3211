import { UsageError } from '../../errors/errors.ts'
import { firstWord, REFUSED, textFrom } from './readable-statement.ts'

/**
 * The statement without what stands before its first word. Throws UsageError unless it begins as one that reads does, with the reason
 * in our words. The server makes sure that nothing is written: it runs the statement in a READ ONLY transaction.
 */
export function readablePostgres(sql: string): string {
  const { word, text } = firstWord(sql)
  const key = word.toUpperCase()
  if (READS.has(key)) return text
  if (key === 'EXPLAIN') {
    if (!READS.has(firstWord(explained(text)).word.toUpperCase()))
      throw new UsageError('sql explains SELECT, WITH, VALUES and TABLE only.')
    return text
  }
  if (key === 'PRAGMA')
    throw new UsageError(
      'PRAGMA is of SQLite, and this mirror is in PostgreSQL. The tables and columns: customer-mirror sql --tables',
    )
  throw new UsageError(
    REFUSED[key] ??
      `A statement starts with SELECT, WITH, VALUES, TABLE, EXPLAIN or SHOW, not with "${word || text[0]}".`,
  )
}

const READS = new Set(['SELECT', 'WITH', 'VALUES', 'TABLE', 'SHOW'])

/** What stands behind EXPLAIN and its options. */
function explained(text: string): string {
  return textFrom(text.replace(/^explain\b/i, '')).replace(/^(?:\([^)]*\)|(?:analyze\b|verbose\b|\s+)+)\s*/i, '')
}
