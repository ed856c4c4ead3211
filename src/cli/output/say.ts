import { screenOf } from '../io.ts'
import { wrapLines } from './fit-text.ts'

/** Writes what is said to people. On a terminal its lines are broken between words; files and pipes get them as they are. */
export function say(stream: NodeJS.WritableStream, text: string): void {
  stream.write(wrapLines(text, screenOf(stream)?.columns ?? Number.POSITIVE_INFINITY))
}
