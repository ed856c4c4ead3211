import { constants, createReadStream, openSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Socket } from 'node:net'
import { codeOf } from '../errors/faults.ts'

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

/** A file's bytes, at most one more than was asked for, or a phrase that continues "the file …" and says why there are none. */
type FileBytes = { bytes: Buffer } | { problem: string; missing: boolean }

type Limits = {
  maxBytes: number
  /** How long a pipe that this process was given may stay silent. */
  silenceMs?: number | undefined
}

const SILENCE_MS = 30_000

/**
 * Reads a small file, or a pipe that this process was given, such as /dev/stdin or that of `<(command)`. Never throws, whatever the
 * file is. A named pipe is not opened: that could wait for ever, and no signal would end the process.
 */
export async function readBytes(path: string, { maxBytes, silenceMs = SILENCE_MS }: Limits): Promise<FileBytes> {
  try {
    const isPipe = (await stat(path)).isFIFO()
    if (isPipe && !GIVEN.test(path)) return { problem: 'is a pipe, not a file', missing: false }
    // Reading one byte past the limit shows that a file is too large, and ends the reading of an endless device.
    const stream = isPipe ? openPipe(path, silenceMs) : createReadStream(path, { end: maxBytes })
    const chunks: Buffer[] = []
    let length = 0
    for await (const chunk of stream) {
      chunks.push(Buffer.from(chunk))
      length += chunk.length
      if (length > maxBytes) break
    }
    return { bytes: Buffer.concat(chunks) }
  } catch (error) {
    const code = codeOf(error) ?? 'unknown'
    return { problem: PHRASES[code] ?? `cannot be read (${code})`, missing: code === 'ENOENT' }
  }
}

/** Names of descriptors that are open in this process already. */
const GIVEN = /^\/(dev\/(stdin|fd\/\d+)|proc\/(self|\d+)\/fd\/\d+)$/

/** Waits in the event loop and not in a thread, which would keep the process from its end. */
function openPipe(path: string, silenceMs: number): Socket {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const pipe = new Socket({ fd, readable: true, writable: false })
  return pipe.setTimeout(silenceMs, () => pipe.destroy(Object.assign(new Error('silent'), { code: 'ETIMEDOUT' })))
}

const PHRASES: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist: part of the path before it is a file',
  EISDIR: 'is a folder, not a file',
  EACCES: 'cannot be read: this user has no permission',
  EPERM: 'cannot be read: this user has no permission',
  ELOOP: 'cannot be read: its symbolic links lead in a circle',
  ENAMETOOLONG: 'cannot be read: the name is too long',
  ETIMEDOUT: 'is a pipe that stays silent',
}
