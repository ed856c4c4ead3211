import { readBytes } from './read-bytes.ts'

/** A file's text, or a phrase that continues "the file …" and says why there is none. */
export type FileText = { text: string } | { problem: string; missing: boolean }

/** Reads a small UTF-8 file or pipe, as `readBytes` does, without its byte order mark. Never throws, whatever the file is. */
export async function readText(path: string, { maxBytes }: { maxBytes: number }): Promise<FileText> {
  const content = await readBytes(path, { maxBytes })
  return 'bytes' in content ? decode(content.bytes, maxBytes) : content
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
