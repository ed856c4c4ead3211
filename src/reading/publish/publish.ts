import { dirname } from 'node:path'
import { describeError, isOurs } from '../../errors/errors.ts'
import { buildCopy, type BuiltCopy } from './build-copy.ts'
import { removeLeftovers, unfinishedCopy, type UnfinishedCopy } from './unfinished-copy.ts'
import { copyError, afterPlacing } from '../files/copy-error.ts'
import { describeCopies, placeOfMetadata } from './copy-metadata.ts'
import { lockFolder, prepareFolder, requireSafeFolder, unreachableFolder } from './copy-folder.ts'
import { copyTargets, requireReplaceable, type CopyTarget } from './copy-target.ts'
import { groupNumber } from './group-number.ts'
import { listReadOrganizations } from '../organizations/listed-organizations.ts'
import { keepOlderCopy, pruneOlderCopies } from './older-copies.ts'
import type { LeftOut, Published, PublishedCopy, PublishPlan } from './publish-plan.ts'
import { underItsName, flushPlace, type SecondName } from '../files/placed-file.ts'
import { renameSync } from 'node:fs'

/**
 * Publishes copies of the mirror for readers, each one state of the mirror and each replaced as a whole: a reader finds the
 * copy from before or the new one, whenever this process ends. Throws UsageError, before anything is written, for a target that
 * cannot be replaced, and MirrorUnusable for a mirror that cannot be read.
 */
export function publishCopies(plan: PublishPlan): Published {
  const organizations = listReadOrganizations(plan.mirror)
  const neverRead = plan.organizations.filter((organization) => !organizations.includes(organization))
  const done: Published = { copies: [], leftOut: neverRead.map(leaveOut), failed: [], warnings: [] }
  const targets = copyTargets(plan, organizations).flatMap(({ group, ...target }): Target[] => {
    try {
      return [{ ...target, gid: group === undefined ? undefined : groupNumber(group) }]
    } catch (error) {
      // The group of one organization, who may have left long ago, keeps no copy from the others.
      if (!isOurs(error) || group === plan.group) throw error
      done.failed.push({ file: target.file, ...describeError(error) })
      return []
    }
  })
  for (const { file } of targets) requirePublishable(file, plan.mirror)
  const only = plan.only && new Set(plan.only)
  for (const target of targets) {
    if (only?.has(target.file) === false) continue
    try {
      const { leftOut, ...copy } = publishCopy(target, plan)
      done.copies.push(copy)
      if (!plan.splitByOrganization) done.leftOut = leftOut
      const warning = unreachableFolder(target.file, { gid: target.gid, forAll: plan.withoutPersonalData })
      if (warning !== undefined && !done.warnings.includes(warning)) done.warnings.push(warning)
    } catch (error) {
      if (!isOurs(error)) throw error
      done.failed.push({ file: target.file, ...describeError(error) })
    }
  }
  describeFolders(targets, plan, done)
  return done
}

/** Beside the copies of each folder. What cannot be written there is a warning: the copies are made. */
function describeFolders(targets: readonly Target[], plan: PublishPlan, done: Published): void {
  const standing = targets.filter(({ file }) => !done.failed.some((failed) => failed.file === file))
  const folders = Map.groupBy(standing, ({ file }) => dirname(file))
  for (const inFolder of folders.values()) {
    const [first] = inFolder
    const files = inFolder.map(({ file }) => file)
    try {
      const warning = describeCopies(files, { ...plan, gid: first?.gid, forAll: plan.withoutPersonalData })
      if (warning !== undefined) done.warnings.push(warning)
    } catch (error) {
      done.warnings.push(describeError(copyError(error, placeOfMetadata(dirname(first?.file ?? '')))).message)
    }
  }
}

type Target = Omit<CopyTarget, 'group'> & { gid: number | undefined }

function leaveOut(organization: string): LeftOut {
  return { organization, reason: 'never-read' }
}

/** Throws UsageError or CopyFailed for a target that may not be replaced, or a folder that is not safe. */
export function requirePublishable(file: string, mirror: string): void {
  try {
    requireReplaceable(file, mirror)
    requireSafeFolder(file, mirror)
  } catch (error) {
    throw copyError(error, file)
  }
}

function publishCopy(
  { file, organization, gid }: Target,
  plan: PublishPlan,
): PublishedCopy & Pick<BuiltCopy, 'leftOut'> {
  const { mirror, keep, withoutPersonalData: forAll, lockWaitMs } = plan
  try {
    prepareFolder(file, { gid, forAll })
    const lock = lockFolder(file, lockWaitMs)
    try {
      for (const place of [file, placeOfMetadata(dirname(file))]) removeLeftovers(place)
      requireReplaceable(file, mirror)
      const unfinished = unfinishedCopy(file, { gid, forAll })
      try {
        const built = buildCopy(unfinished.path, { ...plan, organization })
        const digest = unfinished.finish()
        const kept = keep !== undefined && keep > 0 ? keepOlderCopy(file, unfinished.path) : undefined
        replaceCopy(file, unfinished, kept)
        if (keep !== undefined) pruneOlderCopies(file, { publishedAt: built.publishedAt, replaced: kept?.kept, keep })
        return { file, ...digest, ...built }
      } catch (error) {
        throw underItsName(error, { path: unfinished.path, file })
      } finally {
        unfinished.remove()
      }
    } finally {
      lock.release()
    }
  } catch (error) {
    throw copyError(error, file)
  }
}

/**
 * Puts a finished copy, and then its digest, in their places. Readers that have the copy from before open go on reading it;
 * `kept` is its second name, which is taken back when the new copy could not be put there.
 */
function replaceCopy(file: string, { path, digestPath }: UnfinishedCopy, kept: SecondName | undefined): void {
  try {
    renameSync(path, file)
  } catch (error) {
    kept?.takeBack()
    throw error
  }
  afterPlacing('the digest beside it is still that of the copy from before', () =>
    renameSync(digestPath, `${file}.sha256`),
  )
  flushPlace(file)
}
