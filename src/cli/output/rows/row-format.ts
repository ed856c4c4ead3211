import type { SqlValue } from '../../../reading/statements/readable-statement.ts'

/** Turns rows into text, a few at a time, so that the memory in use does not grow with their number. */
export type RowFormat = {
  /** The text before the first row. */
  open(columns: readonly string[]): string
  /** The text of a row, or the empty string while it is kept for later. */
  row(values: readonly SqlValue[]): string
  /** The text after the last row, with all that was kept. */
  close(): string
}

/** How rows are to be written. Passed to another process as JSON. */
export type Layout =
  | { format: 'table'; screen?: { columns: number } | undefined; nothing: string; none?: string | undefined }
  | { format: 'csv'; isForTerminal: boolean }
  | { format: 'json'; before: string; after: string }
  | { format: 'jsonl' }
