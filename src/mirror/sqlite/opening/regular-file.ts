import { statSync } from 'node:fs'
import { mirrorFault } from '../../../errors/faults.ts'

/** Throws MirrorUnusable unless `file`, which is there, is a regular file. Opens nothing: a pipe would be waited for without end. */
export function requireRegularFile(file: string): void {
  const found = statSync(file)
  if (found.isFile()) return
  throw mirrorFault(file, { fault: 'foreign', said: found.isDirectory() ? 'is a folder' : 'is a pipe or a device' })
}
