import { lstatSync } from 'node:fs'
import { dirname } from 'node:path'
import { isMissing } from '../../machine/is-missing.ts'
import { listOlder, olderName, timeIn, tooManyOlder } from '../files/dated-name.ts'
import { kindOfFile } from '../file-kind.ts'
import { afterPlacing } from '../files/copy-error.ts'
import { linkSecondName, removeFile, type SecondName } from '../files/placed-file.ts'
import { readManifest, type Manifest } from './manifest.ts'
import { codeOf } from '../../errors/faults.ts'

/**
 * Gives the copy that the one at `newPath` is about to replace a second name with the time at which it was published, such as
 * `customers-20261122T021500123Z.db`. Returns it; undefined where there is no copy yet, where it has that name already, and where it is
 * replaced without being kept.
 */
export function keepOlderCopy(file: string, newPath: string): SecondName | undefined {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined || kindOfFile(file) !== 'copy') return undefined
  const before = readManifest(file)
  const now = before && readManifest(newPath)
  if (before !== undefined && now !== undefined && (isOfSameNight(before, now) || holdsForgotten(before, now)))
    return undefined
  const older = olderName(file, timeIn(before?.publishedAt) ?? timeIn(found.mtime.toISOString()) ?? '')
  try {
    return linkSecondName(file, older)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return undefined
    throw error
  }
}

/**
 * Whether a new copy differs from the one in its place by quick runs and forgotten customers alone. Such a copy takes the place of the other
 * without an older one being kept: otherwise the copies of a few hours would push those of the nights out, or keep a forgotten customer.
 */
function isOfSameNight(before: Manifest, now: Manifest): boolean {
  if (before.lastRuns.size !== now.lastRuns.size) return false
  const moved = [...now.lastRuns].filter(([id, { runId, forgotten }]) => {
    const known = before.lastRuns.get(id)
    return known?.runId !== runId || known.forgotten !== forgotten
  })
  const byNoNight = ([id, { runId, status, readBy }]: (typeof moved)[number]) => {
    const known = before.lastRuns.get(id)
    return known?.runId === runId || (status === 'partial' && known?.readBy === readBy)
  }
  return moved.length > 0 && moved.every(byNoNight)
}

/**
 * Whether the copy in its place holds a customer or an organization that the mirror has forgotten since, by whatever run the new one differs
 * besides. It is kept under no other name: `forget` says that the next publish replaces it.
 */
function holdsForgotten(before: Manifest, now: Manifest): boolean {
  return [...before.lastRuns].some(([id, { runId, forgotten }]) => {
    const known = now.lastRuns.get(id)
    if (known === undefined) return runId !== null
    return forgotten !== null && known.forgotten !== null && known.forgotten > forgotten
  })
}

/** Removes the oldest copies beyond `keep`, once a new one, published at `publishedAt`, is in its place. Throws LeftUndone. */
export function pruneOlderCopies(
  file: string,
  { publishedAt, replaced, keep }: { publishedAt: string; replaced: string | undefined; keep: number },
): void {
  afterPlacing('an older one could not be removed', () => {
    tooManyOlder(olderCopies(file), { file, at: publishedAt, replaced, most: keep }).forEach(removeFile)
  })
}

/** The older copies beside a copy, the oldest first: only those made by this program. */
export function olderCopies(file: string): string[] {
  if (isMissing(dirname(file))) return []
  return listOlder(file).filter((path) => kindOfFile(path) === 'copy')
}
