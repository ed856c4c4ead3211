import { execFileSync } from 'node:child_process'
import { accessSync, chmodSync, chownSync, constants, lstatSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isPostgres } from '../address/mirror-address.ts'
import { ORGANIZATION_ID } from '../config/schema.ts'
import { ORGANIZATION } from '../config/publish.ts'
import { UsageError } from '../errors/errors.ts'
import { codeOf } from '../errors/faults.ts'
import { makeFolder, nearestFolder } from '../machine/folders.ts'
import { fileError } from '../store/port/sqlite-errors.ts'
import { atPlace } from './copy-error.ts'
import { kindOfFile } from './file-kind.ts'
import type { FolderPlan, PublishPlan } from './publish-plan.ts'
import { refused, requireNoJournals, requireOwnFolder, requirePlace } from './target-place.ts'
import { giveToGroup } from './written-file.ts'

/*
 * Where copies for readers go, and who may read them there.
 */

/** A copy to be made: of all organizations, or of one. */
export type CopyTarget = { file: string; organization: string | undefined; group: string | number | undefined }

/** Whether a file names a copy for each organization, and not one of all. */
export function isForEach(file: string): boolean {
  return file.includes(ORGANIZATION)
}

/** The copies of a plan, for the organizations that may be published. */
export function copyTargets(
  { file, group }: Pick<PublishPlan, 'file' | 'group'>,
  organizations: readonly string[],
): CopyTarget[] {
  if (!isForEach(file)) return [{ file, group, organization: undefined }]
  return organizations.map((organization) => {
    // The configuration allows no other names; a mirror that was edited by hand may hold any.
    if (!ORGANIZATION_ID.test(organization))
      throw new UsageError(
        'The mirror holds an organization whose name is no file name, so it gets no copy of its own. Give it another id with ' +
          "'customer-mirror organizations rename', or publish one copy of all, without {organization} in its name.",
      )
    return {
      file: file.replaceAll(ORGANIZATION, organization),
      organization,
      group: typeof group === 'string' ? group.replaceAll(ORGANIZATION, organization) : group,
    }
  })
}

/**
 * The places of a plan, for the organizations that it names. Throws, without writing anything, what publishing would throw: UsageError
 * for a target or a group that cannot be, or where this user may not write, and MirrorUnusable where the mirror may not be read.
 */
export function checkTargets(plan: PublishPlan | FolderPlan): string[] {
  const targets =
    'parquet' in plan
      ? [{ file: join(plan.parquet, 'organization'), group: plan.group }]
      : copyTargets(plan, plan.organizations)
  for (const { file, group } of targets) {
    if (group !== undefined) groupNumber(group)
    // Whether a target leads to the mirror by another name shows only once there is one.
    if (!isPostgres(plan.mirror)) {
      const isThere = isReadable(plan.mirror)
      if (isThere && 'file' in plan) requirePublishable(file, plan.mirror)
      else if (isThere) requireSafeFolder(dirname(file), plan.mirror)
      else if (dirname(file) === dirname(plan.mirror)) throw ofTheMirror(dirname(file))
    }
    atPlace(file, () => accessSync(nearestFolder(dirname(file)), constants.W_OK | constants.X_OK))
  }
  return 'parquet' in plan ? [plan.parquet] : targets.map(({ file }) => file)
}

/** False for a mirror that is not there yet. */
function isReadable(mirror: string): boolean {
  try {
    statSync(mirror)
    accessSync(mirror, constants.R_OK)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw fileError(error, mirror)
  }
}

/** Throws UsageError or CopyFailed unless `file` is free, or a copy made by this program, in a folder that is safe. */
export function requirePublishable(file: string, mirror: string): void {
  atPlace(file, () => {
    requirePlace(file, {
      mirror,
      example: 'readers.db',
      ofMirror: 'is the mirror itself, which readers must not open; name another file in a folder of its own',
    })
    const kind = lstatSync(file, { throwIfNoEntry: false }) && kindOfFile(file)
    if (kind === 'mirror') throw refused(file, 'is a mirror, not a copy of one; name another file')
    if (kind === 'foreign' || kind === 'database')
      throw refused(file, 'was not published by this program. It was left as it is; name another file')
    requireNoJournals(file, 'readers')
    requireOwnDigest(`${file}.sha256`)
    requireSafeFolder(dirname(file), mirror)
  })
}

/** The digest of a copy is written beside it. */
function requireOwnDigest(file: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined) return
  if (found.isFile() && found.size < 1024 && /^[0-9a-f]{64} {2}[^\n]+\n$/.test(readFileSync(file, 'utf8'))) return
  throw refused(file, 'is where the digest of the copy goes, and holds something else; move it away')
}

/** Throws UsageError for a folder whose copies others could replace, or which is that of the mirror. */
export function requireSafeFolder(folder: string, mirror: string): void {
  requireOwnFolder(folder, 'copy')
  const isThere = statSync(folder, { throwIfNoEntry: false }) !== undefined
  if (isThere && realpathSync(folder) === dirname(realpathSync(mirror))) throw ofTheMirror(folder)
}

function ofTheMirror(folder: string): UsageError {
  return new UsageError(
    `${folder}: is the folder of the mirror, which is private. Name a folder of its own, e.g. ${join(folder, 'copies')}, which is made for you.`,
  )
}

/** Who may read a copy besides its owner: the members of a group, or all users of the machine. */
export type Access = { gid: number | undefined; forAll: boolean }

/** The mode of a copy. */
export function modeOf({ forAll }: Access): number {
  return forAll ? 0o444 : 0o440
}

/** The number of a group, from its name or number. Throws UsageError for a name that the system does not know. */
export function groupNumber(group: string | number): number {
  if (typeof group === 'number') return group
  if (/^\d+$/.test(group)) return Number(group)
  const line = lookUp(group)
  const number = Number(line?.split(':')[2])
  if (line !== undefined && Number.isInteger(number)) return number
  throw new UsageError(
    `publish.group: there is no group ${group} on this machine. Create it (groupadd ${group}), or name another group.`,
  )
}

/** As the system looks groups up, from files and from directories in the network. */
function lookUp(name: string): string | undefined {
  try {
    return execFileSync('getent', ['group', name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return undefined
  }
}

/** Makes the folder of a copy, and those above it, where they are missing: 0750, or 0755 where all users may read the copy. */
export function prepareFolder(folder: string, { gid, forAll }: Access): void {
  makeFolder(folder, (made) => {
    if (gid !== undefined) giveToGroup(made, gid, () => chownSync(made, -1, gid))
    chmodSync(made, forAll ? 0o755 : 0o750)
  })
}

/** A sentence about the folder, if there is one, that keeps those from the copy who may read it. */
export function unreachableFolder(file: string, { gid, forAll }: Access): string | undefined {
  if (gid === undefined && !forAll) return undefined
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const { mode, gid: owner } = statSync(folder)
    const mayEnter = (mode & 0o001) !== 0 || (!forAll && owner === gid && (mode & 0o010) !== 0)
    if (!mayEnter) {
      const who = forAll ? 'other users' : 'the group of the copy'
      const fix = forAll ? `chmod o+x ${folder}` : `chgrp ${gid} ${folder} && chmod g+x ${folder}`
      return `${folder}: ${who} cannot enter this folder, and so not read the copy. Run: ${fix}`
    }
    if (folder === dirname(folder)) return undefined
  }
}
