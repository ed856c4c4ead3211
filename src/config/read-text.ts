import { createReadStream } from 'node:fs'

/** A file's text, or a phrase that continues "the file …" and says why there is none. */
export type FileText = { text: string } | { problem: string; missing: boolean }

/** Reads a small UTF-8 file or pipe, without its byte order mark. Never throws, whatever the file is. */
export async function readText(path: string, { maxBytes }: { maxBytes: number }): Promise<FileText> {
  try {
    const chunks: Buffer[] = []
    // Reading one byte past the limit shows that a file is too large, and ends the reading of an endless device.
    for await (const chunk of createReadStream(path, { end: maxBytes })) chunks.push(Buffer.from(chunk))
    return decode(Buffer.concat(chunks), maxBytes)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
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
  EISDIR: 'is a directory, not a file',
  EACCES: 'cannot be read: this user has no permission',
  EPERM: 'cannot be read: this user has no permission',
  ELOOP: 'cannot be read: its symbolic links lead in a circle',
  ENAMETOOLONG: 'cannot be read: the name is too long',
}
