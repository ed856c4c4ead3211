import { fstatSync, writeFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { Interrupted } from '../errors/errors.ts'
import { codeOf } from '../errors/faults.ts'
import { resultsError } from './copy-error.ts'
import type { Chunk } from './format.ts'

type Chunks = Iterable<Chunk> | AsyncIterable<Chunk>

/** Writes chunks as fast as they are read; false if the reader closed the stream. Throws Interrupted, and UsageError or CopyFailed where it fails. */
export async function writeToStream(stream: NodeJS.WritableStream, chunks: Chunks, signal: AbortSignal) {
  // A failure is that of a write, and is thrown there; the stream reports it a second time, also later.
  stream.on('error', () => {})
  // A stream does not notice where a full disk took a part of a chunk.
  const file = 'fd' in stream && typeof stream.fd === 'number' && fstatSync(stream.fd).isFile() ? stream.fd : undefined
  for await (const chunk of untilStopped(chunks, signal, UNFINISHED)) {
    try {
      if (file === undefined) await written(stream, chunk, signal)
      else writeFileSync(file, chunk)
    } catch (error) {
      if (codeOf(error) === 'EPIPE') return false
      throw resultsError(error)
    }
  }
  return true
}

/** Chunks as they come, until the signal: then it throws Interrupted, with this message. Signals are taken between two of them. */
export async function* untilStopped(chunks: Chunks, signal: AbortSignal, message: string): AsyncGenerator<Chunk, void> {
  for await (const chunk of chunks) {
    if (signal.aborted) throw new Interrupted(message)
    yield chunk
    await setImmediate()
  }
}

function written(stream: NodeJS.WritableStream, chunk: Chunk, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Interrupted(UNFINISHED))
    signal.addEventListener('abort', stop, { once: true })
    stream.write(chunk, (error) => {
      signal.removeEventListener('abort', stop)
      if (error) reject(error)
      else resolve()
    })
  })
}

const UNFINISHED = 'Stopped: what was written is not all of it.'
