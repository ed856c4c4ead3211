import { stat } from 'node:fs/promises'
import type { Sleep } from '../../machine/sleep.ts'
import { readText, type FileText } from './read-text.ts'

/** How long a file must not have been written to be taken as whole: the program that writes it may not be done. */
const REST_MS = 1000

export type Resting = {
  /** Unix milliseconds. */
  now: () => number
  sleep: Sleep
  /** Ends the rest, and what is stopped reads at once. */
  signal: AbortSignal
}

/**
 * Reads a file as `readText` does. One that was written a moment ago is read again after a rest, and is a problem if it holds another text
 * then.
 */
export async function readRestedText(
  path: string,
  limits: { maxBytes: number },
  { now, sleep, signal }: Resting,
): Promise<FileText> {
  const found = await readText(path, limits)
  // Looked at after the reading: what was written meanwhile was written a moment ago.
  const writtenMs = 'text' in found ? await writtenAtMs(path) : undefined
  if (writtenMs === undefined || Math.abs(now() - writtenMs) >= REST_MS) return found
  await sleep(REST_MS, signal).catch(() => {})
  const again = await readText(path, limits)
  if ('problem' in again || ('text' in found && again.text === found.text)) return again
  return { problem: 'was changed while it was read: wait until it is written, then try again', missing: false }
}

/** When a file was last written; undefined for a pipe, which can be read once. */
async function writtenAtMs(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined)
  return found?.isFile() === true ? found.mtimeMs : undefined
}
