import { plainJson, plainLines } from '../../text/plain-text.ts'
import { screenOf } from '../io.ts'
import { wrapLines } from './fit-text.ts'

/** Writes what is said to people. On a terminal its lines are broken between words; files and pipes get them as they are. */
export function say(stream: NodeJS.WritableStream, text: string): void {
  print(stream, wrapLines(text, screenOf(stream)?.columns ?? Number.POSITIVE_INFINITY))
}

/** Writes results in lines of their own. No text in them acts on a terminal. */
export function print(stream: NodeJS.WritableStream, text: string): void {
  stream.write(plainLines(text))
}

/**
 * One JSON document, as every command with `--json` prints it: for people to read, unless it is to be on one line. No text in it acts on a
 * terminal.
 */
export function jsonDocument(content: Record<string, unknown>, { onOneLine = false } = {}): string {
  const json = JSON.stringify({ schemaVersion: 1, ...content }, null, onOneLine ? undefined : 2)
  // A line end within a text is written out already.
  return `${json.split('\n').map(plainJson).join('\n')}\n`
}
