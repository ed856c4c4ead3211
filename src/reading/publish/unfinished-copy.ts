import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { giveToGroup, type Access } from './copy-folder.ts'

/** A copy that is being made under a private name beside the one that it will replace, and its digest. */
export type UnfinishedCopy = {
  path: string
  digestPath: string
  /** Sets who may read it, and puts it on the disk. Returns its size and its SHA-256. */
  finish(): { bytes: number; sha256: string }
  /** Removes what was not put in its place. */
  remove(): void
}

/** Makes an empty private file, with the group of the copy. Throws CopyFailed where this user may not give it that group. */
export function unfinishedCopy(file: string, { gid, forAll }: Access): UnfinishedCopy {
  const path = temporaryName(file)
  const digestPath = `${path.slice(0, -ENDING.length)}.sha256${ENDING}`
  const paths = [path, `${path}-journal`, digestPath]
  const remove = () => paths.forEach((each) => rmSync(each, { force: true }))
  try {
    makeFile(path, { file, gid, mode: 0o600, content: '' })
  } catch (error) {
    remove()
    throw error
  }
  return {
    path,
    digestPath,
    finish() {
      const mode = forAll ? 0o444 : 0o440
      const finished = flush(path)
      makeFile(digestPath, { file, gid, mode, content: `${finished.sha256}  ${basename(file)}\n` })
      chmodSync(path, mode)
      return finished
    },
    remove,
  }
}

const ENDING = '.publishing'

/** Removes what a publish left behind that was killed. The caller holds the lock of the folder, so none is under way. */
export function removeLeftovers(file: string): void {
  const folder = dirname(file)
  const start = `.${basename(file)}.`
  for (const name of readdirSync(folder)) {
    const isOurs =
      name.startsWith(start) && /^[0-9a-f]{16}(\.sha256)?\.publishing(-journal)?$/.test(name.slice(start.length))
    if (isOurs) rmSync(join(folder, name), { force: true })
  }
}

/** A private name beside a file, under which what will replace it is made. */
export function temporaryName(file: string): string {
  return join(dirname(file), `.${basename(file)}.${randomBytes(8).toString('hex')}${ENDING}`)
}

/** Makes a file with this content, and puts it on the disk. Throws CopyFailed where this user may not give it that group. */
export function makeFile(
  path: string,
  { file, gid, mode, content }: { file: string; gid: number | undefined; mode: number; content: string },
): void {
  const descriptor = openSync(path, 'wx', 0o600)
  try {
    fchmodSync(descriptor, 0o600)
    if (gid !== undefined) giveToGroup(file, gid, () => fchownSync(descriptor, -1, gid))
    fchmodSync(descriptor, mode)
    if (content === '') return
    writeSync(descriptor, content)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Reads the file once, for its digest, and waits until all of it is on the disk. */
function flush(path: string): { bytes: number; sha256: string } {
  const descriptor = openSync(path, 'r+')
  try {
    const digest = createHash('sha256')
    const chunk = Buffer.allocUnsafe(1024 * 1024)
    let bytes = 0
    for (let read; (read = readSync(descriptor, chunk, 0, chunk.length, bytes)) > 0; bytes += read)
      digest.update(chunk.subarray(0, read))
    fsyncSync(descriptor)
    return { bytes, sha256: digest.digest('hex') }
  } finally {
    closeSync(descriptor)
  }
}
