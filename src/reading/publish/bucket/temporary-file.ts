import { closeSync, openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateName, removeFile, writeAll } from '../../files/placed-file.ts'
import { copyError } from '../../files/copy-error.ts'

/** A file that only this process can open: it has no name, so that a kill leaves nothing of it. */
export type TemporaryFile = {
  descriptor: number
  readonly bytes: number
  write(chunk: string | Uint8Array): void
  close(): void
}

/** In the folder for temporary files. Throws CopyFailed where it cannot be written, also later. */
export function privateTemporaryFile(): TemporaryFile {
  const folder = tmpdir()
  const path = privateName(join(folder, 'customers.parquet'), 'publishing')
  const descriptor = attempt(folder, () => {
    const opened = openSync(path, 'wx+', 0o600)
    removeFile(path)
    return opened
  })
  let bytes = 0
  return {
    descriptor,
    get bytes() {
      return bytes
    },
    write(chunk) {
      const content = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      attempt(folder, () => writeAll(descriptor, content))
      bytes += content.length
    },
    close: () => closeSync(descriptor),
  }
}

function attempt<Result>(folder: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw copyError(error, folder)
  }
}
