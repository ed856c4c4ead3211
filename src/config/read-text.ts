import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { codeOf } from '../errors/faults.ts'

/** The text of a file, or a phrase that continues "the file …" and says why there is none. */
export type FileText = { text: string } | { problem: string; missing: boolean }

/**
 * Reads a small UTF-8 file without its byte order mark. Never throws, whatever the file is. A pipe is not opened: that could wait for
 * ever, in a thread that keeps the process from its end.
 */
export async function readText(path: string, { maxBytes }: { maxBytes: number }): Promise<FileText> {
  try {
    if ((await stat(path)).isFIFO()) return { problem: 'is a pipe, not a file', missing: false }
    // Reading one byte past the limit shows that a file is too large, and ends the reading of an endless device.
    return decode(await buffer(createReadStream(path, { end: maxBytes })), maxBytes)
  } catch (error) {
    const code = codeOf(error) ?? 'unknown'
    return { problem: PHRASES[code] ?? `cannot be read (${code})`, missing: code === 'ENOENT' }
  }
}

function decode(bytes: Buffer, maxBytes: number): FileText {
  if (bytes.length > maxBytes) return { problem: `is larger than ${maxBytes / 1024} KiB`, missing: false }
  if (bytes[0] === 0xff || bytes[0] === 0xfe)
    return { problem: 'is not UTF-8 but UTF-16: save it as UTF-8', missing: false }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return { problem: 'is not UTF-8: save it as UTF-8', missing: false }
  }
}

const PHRASES: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist: part of the path before it is a file',
  EISDIR: 'is a folder, not a file',
  EACCES: 'cannot be read: this user has no permission',
  EPERM: 'cannot be read: this user has no permission',
  ELOOP: 'cannot be read: its symbolic links lead in a circle',
  ENAMETOOLONG: 'cannot be read: the name is too long',
}
