import { existsSync, linkSync, lstatSync, readdirSync, realpathSync, renameSync } from 'node:fs'
import { join, parse } from 'node:path'
import { isPostgres } from '../address/mirror-address.ts'
import type { Config } from '../config/read-config.ts'
import { isOurs } from '../errors/errors.ts'
import { codeOf } from '../errors/faults.ts'
import { isMissing } from '../machine/folders.ts'
import { fromSqlTime, sqlTime } from '../store/port/sql.ts'
import { connect, type Connection } from '../store/sqlite/connect.ts'
import { kindOfFile, lookBeside } from '../store/sqlite/open-to-read.ts'
import { LARGEST_STEP_MS } from '../time/moments.ts'
import { afterPlacing } from './copy-error.ts'
import { partitionFolder } from './objects/object-place.ts'
import { configuredPlans, planPlace, type TargetPlan } from './publish-plan.ts'
import { copyTargets, isSameFile } from './target-place.ts'
import { listUnfinished, removeFile, removeIfPossible } from './written-file.ts'

/* Older backups, copies and mirrors, which are kept beside the newest one under its name with a time in it. */

/** `customers.db` with the time `2026-11-22 02:15:00.123` in it: `customers-20261122T021500123Z.db`. */
export function olderName(file: string, time: string): string {
  const { dir, name, ext } = parse(file)
  return join(dir, `${name}-${time.replaceAll(/\D/g, '').replace(/^.{8}/, '$&T')}Z${ext}`)
}

/** The files beside `file` that have its name with a time in it, oldest first. */
function listOlder(file: string): string[] {
  const { dir, name, ext } = parse(file)
  const files = isMissing(dir) ? [] : readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isFile())
  return files
    .map((entry) => entry.name)
    .filter((each) => each.startsWith(`${name}-`) && each.endsWith(ext))
    .filter((each) => /^\d{8}T\d{9}Z$/.test(each.slice(name.length + 1, each.length - ext.length)))
    .map((each) => join(dir, each))
    .toSorted()
}

export function isOlderCopy(path: string): boolean {
  return kindOfFile(path) === 'copy'
}

export function olderCopies(file: string): string[] {
  return listOlder(file).filter(isOlderCopy)
}

/** The name under which a file to be replaced is kept: with the time `at`, else with its own. Undefined where there is none, or where it is kept. */
export function nameToKeep(file: string, at: string | undefined): string | undefined {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined || found.size === 0) return undefined
  const kept = olderName(file, at?.replaceAll(/\D/g, '').length === 17 ? at : found.mtime.toISOString())
  return existsSync(kept) ? undefined : kept
}

/** Runs `place`, which replaces `file`, once that has the second name `kept`; a failure takes it back. With hard links, a file is always there. */
export function replaceKeeping(file: string, kept: string | undefined, place: () => void): void {
  const takeBack = kept === undefined ? () => {} : giveSecondName(file, kept)
  try {
    place()
  } catch (error) {
    // An error of ours says that it is there, and not all of what follows.
    if (!isOurs(error)) takeBack()
    throw error
  }
}

function giveSecondName(file: string, kept: string): () => void {
  try {
    linkSync(file, kept)
    // A network may report a rename as failed that was done: then the second name is the only one.
    return () => isSameFile(file, kept) && removeIfPossible([kept])
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(codeOf(error) ?? '')) throw error
    renameSync(file, kept)
    return () => renameSync(kept, file)
  }
}

type Newest = { file: string; at: string; replaced: string | undefined; most: number }

/** Removes our oldest files beside `file` but for `most`: first those later than `at`, as a clock was ahead; last `replaced`. */
export function removeTooMany({ file, at, replaced, most }: Newest, mayGo: (path: string) => boolean): string[] {
  return afterPlacing(file, 'an older one could not be removed', () => {
    const older = listOlder(file).filter(mayGo)
    const latest = olderName(file, sqlTime(fromSqlTime(at) + LARGEST_STEP_MS))
    const rank = (path: string) => (path === replaced ? 2 : path > latest ? 0 : 1)
    const sorted = older.toSorted((one, other) => rank(one) - rank(other))
    const tooMany = sorted.slice(0, Math.max(0, older.length - most))
    tooMany.forEach(removeFile)
    return tooMany
  })
}

/** What the file of SQLite at `path` says of itself; undefined where it cannot be read. Nothing is made beside it. */
export function ifReadable<Said>(path: string, read: (db: Connection) => Said): Said | undefined {
  let db: Connection | undefined
  try {
    db = connect(path, { readonly: true, fileMustExist: true })
    return read(db)
  } catch {
    return undefined
  } finally {
    db?.close()
  }
}

/** The name under which restores keep the mirrors that they replace, without its time. */
export function replacedName(mirror: string): string {
  const { dir, name, ext } = parse(mirror)
  return join(dir, `${name}-replaced${ext}`)
}

/** The mirrors that restores have replaced, oldest first, and what killed restores and moves left; none of a database. Throws MirrorUnusable. */
export function replacedMirrors(mirror: string): string[] {
  if (isPostgres(mirror) || isMissing(mirror)) return []
  return lookBeside(mirror, () => {
    const file = realpathSync(mirror)
    return [...listOlder(replacedName(file)), ...listUnfinished(file)]
  })
}

/** Lists what may hold rows to be forgotten; again when called, as a publish may make some. Throws MirrorUnusable the first time. */
export function listCopiesLeft(config: Config, organization: string) {
  const list = () => ({
    copies: configuredPlans(config).flatMap((plan) => copiesOf(plan, organization)),
    replaced: replacedMirrors(config.mirror),
  })
  const before = list()
  return () => {
    try {
      return list()
    } catch {
      return before
    }
  }
}

/** What is published that may hold rows of an organization, as far as it exists; then older copies, and what publishes left that were killed. */
function copiesOf(plan: TargetPlan, organization: string): string[] {
  // Whether an object holds it would take a look at the bucket, which may be out of reach.
  if ('to' in plan) return [planPlace(plan)]
  const files =
    'file' in plan
      ? copyTargets(plan, [organization]).map(({ file }) => file)
      : [join(plan.parquet, partitionFolder(organization), 'part-0.parquet')]
  return files.flatMap((file) =>
    lookBeside(file, () => [
      ...(isMissing(file) ? [] : [file]),
      ...olderCopies(file).toReversed(),
      ...listUnfinished(file),
    ]),
  )
}
