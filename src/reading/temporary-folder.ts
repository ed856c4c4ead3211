import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MirrorUnusable } from '../errors/errors.ts'
import { systemCode } from '../errors/code-of.ts'
import { isFull } from './place-error.ts'

/**
 * Makes a private folder of its own, 0700, among the temporary files, in which a mirror is copied to be read. Throws MirrorUnusable where
 * nothing can be made there, but not for a full disk.
 */
export function makeTemporaryFolder(name: string): string {
  const folder = tmpdir()
  try {
    return mkdtempSync(join(folder, name))
  } catch (error) {
    const code = systemCode(error)
    // For a full disk there is a sentence of its own.
    if (code === undefined || isFull(code)) throw error
    throw new MirrorUnusable(
      `${folder}: nothing can be made in this folder for temporary files (${code}), where the mirror is copied to be read. Let TMPDIR ` +
        'name a folder that this user may write.',
      { code: 'unreadable' },
      { cause: error },
    )
  }
}
