import { execFileSync } from 'node:child_process'
import { accessSync, chmodSync, constants, lstatSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ORGANIZATION } from '../config/publish.ts'
import { ORGANIZATION_ID } from '../config/schema.ts'
import { UsageError } from '../errors/errors.ts'
import { isMissing, makeFolder, nearestFolder } from '../machine/folders.ts'
import { JOURNALS, kindOfFile, lookBeside } from '../store/sqlite/open-to-read.ts'
import { atPlace } from './copy-error.ts'
import type { FolderPlan, PublishPlan } from './publish-plan.ts'
import { giveToGroup } from './written-file.ts'

/** Throws UsageError unless `file` is a file, or free, and no mirror, configuration or part of a database; and the error of the system. */
export function requirePlace(file: string, mirror: string, configuration?: string): void {
  const isFolder = 'is a folder; name a file in it'
  if (/[/\\]$/.test(file) || ['', '.', '..'].includes(basename(file))) throw refused(file, isFolder)
  if (isSameFile(file, mirror)) throw refused(file, 'is the mirror itself; name another file')
  if (configuration !== undefined && isSameFile(file, configuration))
    throw refused(file, 'is the configuration; name another file')
  if (JOURNALS.some((ending) => file.endsWith(ending)))
    throw refused(file, 'is where SQLite keeps a part of a database; name another file')
  const found = lookAt(file)
  if (found?.isSymbolicLink() === true) throw refused(file, 'is a symbolic link; name the file itself')
  if (found?.isDirectory() === true) throw refused(file, isFolder)
  if (found?.isFile() === false) throw refused(file, 'is not a file; name a file')
}

/** Throws UsageError unless a text may be written to `file`: where it is there, it is no database. Throws the error of the system, too. */
export function requireTextPlace(file: string, mirror: string, configuration?: string): void {
  requirePlace(file, mirror, configuration)
  if (lookAt(file) !== undefined && !['empty', 'foreign'].includes(kindOfFile(file)))
    throw refused(file, 'is a database; name another file')
}

/** Throws UsageError for a folder in which other users could replace what is written there: a backup, an export or a copy. */
export function requireOwnFolder(folder: string, what: string): void {
  const found = statSync(folder, { throwIfNoEntry: false })
  if (found?.isDirectory() === false) throw refused(folder, `is not a folder, so no ${what} can be put there`)
  const { mode = 0 } = found ?? {}
  if ((mode & 0o022) === 0) return
  // A folder that all users share, such as /tmp, has to stay open.
  const fix = (mode & 0o1000) === 0 ? `, or take that right from them: chmod go-w ${folder}` : ''
  throw refused(
    folder,
    `users besides its owner may write there, and could replace the ${what}. Name a folder of its own${fix}`,
  )
}

/** Throws UsageError where a journal of another database stands beside the file, which SQLite would take for one of it. */
export function requireNoJournals(file: string): void {
  const ending = JOURNALS.find((each) => lookAt(file + each) !== undefined)
  if (ending === undefined) return
  throw refused(file, `has ${basename(file)}${ending} beside it, which SQLite would take for its own; move that away`)
}

function lookAt(path: string) {
  return lstatSync(path, { throwIfNoEntry: false })
}

export function isSameFile(file: string, other: string): boolean {
  const [one, two] = [file, other].map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }))
  return one !== undefined && one.dev === two?.dev && one.ino === two.ino
}

export function refused(file: string, what: string): UsageError {
  return new UsageError(`${file}: ${what}.`)
}

/** A copy to be made: of all organizations, or of one. */
export type CopyTarget = ReturnType<typeof copyTargets>[number]

export function copyTargets({ file, group }: Pick<PublishPlan, 'file' | 'group'>, organizations: readonly string[]) {
  if (!file.includes(ORGANIZATION)) return [{ file, group, organization: undefined }]
  return organizations.map((organization) => {
    // The configuration allows no other names; a mirror that was edited by hand may hold any.
    if (!ORGANIZATION_ID.test(organization))
      throw new UsageError(
        'The mirror holds an organization whose name is no file name, so it gets no copy of its own. Give it another id with ' +
          "'customer-mirror organizations rename', or publish one copy of all, without {organization} in its name.",
      )
    const named = (text: string) => text.replaceAll(ORGANIZATION, organization)
    return { file: named(file), organization, group: typeof group === 'string' ? named(group) : group }
  })
}

/** The places of a plan. Throws, without writing, what publishing would: UsageError for a bad target, group or lack of rights, and MirrorUnusable. */
export function checkTargets(plan: PublishPlan | FolderPlan): string[] {
  lookBeside(plan.mirror, () => statSync(plan.mirror, { throwIfNoEntry: false }))
  const targets = 'file' in plan ? copyTargets(plan, plan.organizations) : [{ file: plan.parquet, group: plan.group }]
  for (const { file, group } of targets) {
    accessOf({ ...plan, group })
    atPlace(file, () => {
      if ('file' in plan) requirePublishable(file, plan.mirror)
      else requireSafeFolder(file, plan.mirror)
      accessSync(nearestFolder('file' in plan ? dirname(file) : file), constants.W_OK | constants.X_OK)
    })
  }
  return targets.map(({ file }) => file)
}

/** Throws UsageError unless `file` is free, or a copy made by this program, in a folder that is safe; and the error of the system. */
export function requirePublishable(file: string, mirror: string): void {
  requirePlace(file, mirror)
  if (lookAt(file) !== undefined && !['copy', 'empty'].includes(kindOfFile(file)))
    throw refused(file, 'was not published by this program. It was left as it is; name another file')
  requireNoJournals(file)
  requireSafeFolder(dirname(file), mirror)
}

/** Throws UsageError for a folder whose copies others could replace, or which is that of the mirror. */
export function requireSafeFolder(folder: string, mirror: string): void {
  requireOwnFolder(folder, 'copy')
  const home = dirname(isMissing(mirror) ? mirror : realpathSync(mirror))
  if (folder === home || isSameFile(folder, home))
    throw refused(
      folder,
      `is the folder of the mirror, which is private. Name a folder of its own, e.g. ${join(folder, 'copies')}, which is made for you`,
    )
}

/** Who may read a copy, and find it in its folder, besides its owner: the members of a group, or all users of the machine. */
export type Access = { gid: number | undefined; mode: number; folderMode: number }

/** Throws UsageError for a group that the system does not know. */
export function accessOf({ group, withoutPersonalData }: Pick<FolderPlan, 'group' | 'withoutPersonalData'>): Access {
  const gid = group === undefined ? undefined : groupNumber(group)
  if (withoutPersonalData) return { gid, mode: 0o444, folderMode: 0o755 }
  return gid === undefined ? { gid, mode: 0o400, folderMode: 0o700 } : { gid, mode: 0o440, folderMode: 0o750 }
}

/** The number of a group, from its name or number, as the system looks groups up: in files and in directories of the network. */
function groupNumber(group: string | number): number {
  if (/^\d+$/.test(String(group))) return Number(group)
  try {
    const line = execFileSync('getent', ['group', String(group)], { encoding: 'utf8', stdio: 'pipe' })
    return Number(line.split(':')[2])
  } catch {
    throw new UsageError(
      `publish.group: there is no group ${group} on this machine. Create it (groupadd ${group}), or name another group.`,
    )
  }
}

export function prepareFolder(folder: string, { gid, folderMode }: Omit<Access, 'mode'>): void {
  makeFolder(folder, (made) => {
    if (gid !== undefined) giveToGroup(made, gid)
    chmodSync(made, folderMode)
  })
}

/** A sentence that names a folder above `place` which those who may read a copy cannot enter; none where they can, or are its owner alone. */
export function closedAbove(place: string, { gid, mode }: Access): string[] {
  const isForAll = (mode & 0o004) !== 0
  const isClosed = (folder: string) => {
    const found = statSync(folder)
    return (found.mode & (!isForAll && found.gid === gid ? 0o010 : 0o001)) === 0
  }
  const above = (folder: string): string[] => [folder, ...(dirname(folder) === folder ? [] : above(dirname(folder)))]
  const closed = isForAll || gid !== undefined ? above(dirname(realpathSync(place))).findLast(isClosed) : undefined
  if (closed === undefined) return []
  return [
    `${place}: its readers cannot enter ${closed}, unless an ACL lets them. Run chmod o+x ${closed}, or publish elsewhere.`,
  ]
}
