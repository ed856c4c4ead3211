import { statSync } from 'node:fs'
import { join } from 'node:path'
import { MirrorUnusable } from '../../../errors/errors.ts'

/** Throws MirrorUnusable unless `file`, which is there, is a regular file. Opens nothing: a pipe would be waited for without end. */
export function requireRegularFile(file: string): void {
  const found = statSync(file)
  if (found.isFile()) return
  if (found.isDirectory())
    throw new MirrorUnusable(`${file}: is a folder; name a file in it, e.g. ${join(file, 'customers.db')}`, {
      code: 'directory',
    })
  throw new MirrorUnusable(`${file}: is not a file, but a pipe or a device. Name another file.`, { code: 'foreign' })
}
