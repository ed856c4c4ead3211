import { lstatSync, readFileSync, realpathSync, statSync, type BigIntStats } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { UsageError } from '../../errors.ts'
import type { PublishPlan } from './publish-plan.ts'
import { kindOfFile } from '../file-kind.ts'
import { isPlaceOfJournal } from '../journal-place.ts'

/** A copy to be made: of all organizations, or of one. */
export type CopyTarget = { file: string; organization: string | undefined; group: string | number | undefined }

/** What is replaced by the id of an organization in a file name or a group. */
const PLACEHOLDER = '{organization}'

/** File systems allow 255 bytes; the names of unfinished and of older copies are longer than that of the copy. */
const LONGEST_NAME = 200

/** The copies of a plan, for the organizations that may be published. */
export function copyTargets(
  { file, group, splitByOrganization }: Pick<PublishPlan, 'file' | 'group' | 'splitByOrganization'>,
  organizations: readonly string[],
): CopyTarget[] {
  if (!splitByOrganization) return [{ file, group, organization: undefined }]
  const ending = extname(file)
  const pattern = file.includes(PLACEHOLDER)
    ? file
    : join(dirname(file), `${basename(file, ending)}-${PLACEHOLDER}${ending}`)
  return organizations.map((organization) => {
    // The configuration allows no other names; a mirror that was edited by hand may hold any.
    if (!/^[a-z0-9][a-z0-9._-]{0,62}$/.test(organization))
      throw new UsageError(`the mirror holds an organization whose name is no file name, so it gets no copy of its own`)
    return {
      file: pattern.replaceAll(PLACEHOLDER, organization),
      organization,
      group: typeof group === 'string' ? group.replaceAll(PLACEHOLDER, organization) : group,
    }
  })
}

/** Throws UsageError unless `file` is free, or a copy made by this program. */
export function requireReplaceable(file: string, mirror: string): void {
  if (/[/\\]$/.test(file) || ['', '.', '..'].includes(basename(file)))
    throw refused(file, `is a folder; name a file in it, e.g. ${join(file, 'readers.db')}`)
  if (Buffer.byteLength(basename(file)) > LONGEST_NAME)
    throw refused(file, `has a name that is too long; at most ${LONGEST_NAME} bytes leave room for the names beside it`)
  requireNotTheMirror(file, mirror)
  if (isPlaceOfJournal(file)) throw refused(file, 'is where SQLite keeps a part of a database; name another file')
  const found = lstatSync(file, { bigint: true, throwIfNoEntry: false })
  if (found !== undefined) requireOurs(file, found)
  for (const ending of ['-journal', '-wal', '-shm'])
    if (lstatSync(file + ending, { throwIfNoEntry: false }) !== undefined)
      throw refused(
        file,
        `has ${basename(file)}${ending} beside it, which readers would take for its own; move that away`,
      )
  requireOwnDigest(`${file}.sha256`)
}

function requireOurs(file: string, found: BigIntStats): void {
  if (found.isSymbolicLink()) throw refused(file, 'is a symbolic link; name the file itself')
  if (found.isDirectory()) throw refused(file, `is a folder; name a file in it, e.g. ${join(file, 'readers.db')}`)
  if (!found.isFile()) throw refused(file, 'is not a file; name a file that may be replaced')
  const kind = kindOfFile(file)
  if (kind === 'mirror') throw refused(file, 'is a mirror, not a copy of one; name another file')
  if (kind === 'foreign')
    throw refused(file, 'was not published by this program. It was left as it is; name another file')
}

function requireNotTheMirror(file: string, mirror: string): void {
  if (isTheMirror(file, mirror))
    throw refused(file, 'is the mirror itself, which readers must not open; name another file in a folder of its own')
}

/** By its name, by a link to it, or by the names of what SQLite keeps beside it. */
export function isTheMirror(file: string, mirror: string): boolean {
  const real = realpathSync(mirror)
  const folder = realFolder(dirname(file))
  const place = folder === undefined ? file : join(folder, basename(file))
  const opened = statSync(real, { bigint: true })
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  const isSame = found !== undefined && found.dev === opened.dev && found.ino === opened.ino
  return isSame || ['', '-wal', '-shm', '-journal'].some((ending) => place === real + ending)
}

function realFolder(folder: string): string | undefined {
  try {
    return realpathSync(folder)
  } catch {
    return undefined
  }
}

/** The digest of a copy is written beside it. */
function requireOwnDigest(file: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined) return
  if (found.isFile() && found.size < 1024 && /^[0-9a-f]{64} {2}[^\n]+\n$/.test(readFileSync(file, 'utf8'))) return
  throw refused(file, 'is where the digest of the copy goes, and holds something else; move it away')
}

function refused(file: string, what: string): UsageError {
  return new UsageError(`${file}: ${what}.`)
}
