import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mirrorFault, seenIn } from '../errors/faults.ts'
import { isGone, nameOfProcess } from './process-name.ts'

const NAME = 'customer-mirror-copy-'
const OWNER = 'owner'

/**
 * Makes a private folder of its own, 0700, among the temporary files, in which a mirror is copied to be read. Those of processes that were
 * killed are removed. Throws MirrorUnusable where nothing can be made there.
 */
export function makeTemporaryFolder(): string {
  const parent = tmpdir()
  try {
    removeAbandoned(parent)
    return withOwner(mkdtempSync(join(parent, NAME)))
  } catch (error) {
    const seen = seenIn(error)
    throw seen === undefined ? error : mirrorFault(`${parent} (TMPDIR)`, seen, { cause: error })
  }
}

function withOwner(folder: string): string {
  try {
    writeFileSync(join(folder, OWNER), nameOfProcess(), { mode: 0o600 })
    return folder
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

/** Removes the folders of this user's processes that are gone, as far as it can: the next one tries again. */
function removeAbandoned(parent: string): void {
  try {
    for (const name of readdirSync(parent)) if (name.startsWith(NAME)) removeIfAbandoned(join(parent, name))
  } catch {
    // Nothing that is made here depends on it.
  }
}

function removeIfAbandoned(folder: string): void {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (found?.isDirectory() !== true || found.uid !== process.geteuid?.()) return
  if (isAbandoned(join(folder, OWNER))) rmSync(folder, { recursive: true, force: true })
}

/** One without a name is being made, or was killed in the moment between: it is empty, and stays. */
function isAbandoned(owner: string): boolean {
  return lstatSync(owner, { throwIfNoEntry: false })?.isFile() === true && isGone(readFileSync(owner, 'utf8')) === true
}
