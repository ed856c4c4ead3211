import { plainJson } from './plain-text.ts'

/**
 * One JSON document, as every command with `--json` prints it: for people to read, unless it is to be on one line. No text in it acts on a
 * terminal.
 */
export function jsonDocument(content: Record<string, unknown>, { onOneLine = false } = {}): string {
  const json = JSON.stringify({ schemaVersion: 1, ...content }, null, onOneLine ? undefined : 2)
  // A line end within a text is written out already.
  return `${json.split('\n').map(plainJson).join('\n')}\n`
}
