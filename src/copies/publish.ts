import { chmodSync, renameSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { CopyFailed, describeError, isOurs } from '../errors/errors.ts'
import { isHiddenBy } from '../privacy/privacy-policy.ts'
import { openMirrorToRead } from '../store/mirror.ts'
import { listedNames } from '../text/wording.ts'
import { buildCopy, leftOutOf } from './build-copy.ts'
import { afterPlacing, copyError } from './copy-error.ts'
import { isOlderCopy, nameOfOlderCopy } from './copy-manifest.ts'
import { describeCopies, placeOfMetadata } from './copy-metadata.ts'
import { removeTooMany, replaceKeeping } from './older-files.ts'
import { inMirrorFile } from './open-to-read.ts'
import { findRecorded, isRead, recordedIn } from './organizations.ts'
import type { Published, PublishedCopy, PublishPlan } from './publish-plan.ts'
import {
  type Access,
  accessOf,
  type CopyTarget,
  copyTargets,
  modeOf,
  prepareFolder,
  requirePublishable,
  unreachableFolder,
} from './target-place.ts'
import { beginFile, digestOfFile, flushFile, flushPlace, makeFile, underItsName } from './written-file.ts'

/**
 * Publishes copies of the mirror for readers, each one state of the mirror and each replaced as a whole: a reader finds the
 * copy from before or the new one, whenever this process ends. Throws UsageError, before anything is written, for a target that
 * cannot be replaced, and MirrorUnusable for a mirror that cannot be read.
 */
export function publishCopies(plan: PublishPlan): Published {
  const recorded = inMirrorFile(plan.mirror, (db) => recordedIn(db))
  const organizations = recorded.filter(isRead).map(({ organization }) => organization)
  const done: Published = { copies: [], leftOut: [], failed: [], warnings: [] }
  const fail = (file: string, error: unknown) => void done.failed.push({ file, ...describeError(error) })
  const targets = copyTargets(plan, organizations).flatMap(({ group, ...target }): Target[] => {
    try {
      return [{ ...target, access: accessOf({ ...plan, group }) }]
    } catch (error) {
      // The group of one organization, who may have left long ago, keeps no copy from the others.
      if (!isOurs(error) || group === plan.group) throw error
      fail(target.file, error)
      return []
    }
  })
  for (const { file } of targets) requirePublishable(file, plan.mirror)
  for (const target of targets) {
    if (plan.only?.includes(target.file) === false) continue
    try {
      done.copies.push(publishCopy(target, plan))
      const warning = unreachableFolder(target.file, target.access)
      if (warning !== undefined && !done.warnings.includes(warning)) done.warnings.push(warning)
    } catch (error) {
      if (!isOurs(error)) throw error
      fail(target.file, error)
    }
  }
  describeFolders(targets, plan, done)
  // A list may have been read to its end since.
  const copied = new Set(done.copies.flatMap((copy) => copy.organizations.map(({ organization }) => organization)))
  done.leftOut = leftOutOf(recorded, plan.organizations).filter(({ organization }) => !copied.has(organization))
  return done
}

/** Beside the copies of each folder. What cannot be written there is a warning: the copies are made. */
function describeFolders(targets: readonly Target[], plan: PublishPlan, done: Published): void {
  const standing = targets.filter(({ file }) => !done.failed.some((failed) => failed.file === file))
  for (const [folder, inFolder] of Map.groupBy(standing, ({ file }) => dirname(file))) {
    const [{ access } = { access: { gid: undefined, forAll: plan.withoutPersonalData } }] = inFolder
    try {
      const files = inFolder.map(({ file }) => file)
      const warning = describeCopies(files, { ...access, lockWaitMs: plan.lockWaitMs })
      if (warning !== undefined) done.warnings.push(warning)
    } catch (error) {
      done.warnings.push(describeError(copyError(error, placeOfMetadata(folder))).message)
    }
  }
}

type Target = Omit<CopyTarget, 'group'> & { access: Access }

/**
 * Puts a finished copy, and then its digest, in their places. Readers that have the copy from before open go on reading it; its second name is
 * taken back where the new copy could not be put there.
 */
function publishCopy(
  { file, organization, access }: Target,
  { keep, lockWaitMs, ...plan }: PublishPlan,
): PublishedCopy {
  const { gid } = access
  try {
    prepareFolder(dirname(file), access)
    const { path, end } = beginFile(file, { waitMs: lockWaitMs, gid })
    try {
      const built = buildCopy(path, { ...plan, organization })
      const digest = digestOfFile(path)
      const digestPath = `${path}.sha256`
      makeFile(digestPath, gid)
      writeFileSync(digestPath, `${digest.sha256}  ${basename(file)}\n`)
      for (const made of [path, digestPath]) {
        flushFile(made)
        chmodSync(made, modeOf(access))
      }
      const kept = keep !== undefined && keep > 0 ? nameOfOlderCopy(file, path) : undefined
      replaceKeeping(kept === undefined ? [] : [{ file, kept }], () => renameSync(path, file))
      afterPlacing('the digest beside it is still that of the copy from before', () =>
        renameSync(digestPath, `${file}.sha256`),
      )
      flushPlace(file)
      if (keep !== undefined) removeTooMany({ file, at: built.publishedAt, replaced: kept, most: keep }, isOlderCopy)
      return { file, ...digest, ...built }
    } catch (error) {
      throw underItsName(error, { path, file })
    } finally {
      end()
    }
  } catch (error) {
    throw copyError(error, file)
  }
}

/**
 * Throws CopyFailed while the mirror at `address` shows what the configuration hides, as after a restore or a change of the policy: the next
 * run of the organization rewrites its values, and readers keep the copy from before until then.
 */
export async function requireHidden({ hidden }: Pick<PublishPlan, 'hidden'>, address: string): Promise<void> {
  if (hidden === undefined) return
  const mirror = await openMirrorToRead(address)
  const stored = await mirror.listPrivacy()
  await mirror.close()
  // Others have no rows in a copy.
  const read = (await findRecorded(address)).filter(isRead)
  const shown = read
    .map(({ organization }) => organization)
    .filter((id) => {
      const wanted = hidden[id]
      if (wanted === undefined) return false
      const found = stored.find(({ organization }) => organization === id)
      return found === undefined || found.left === 'values' || !isHiddenBy(found.policy, wanted)
    })
  if (shown.length === 0) return
  throw new CopyFailed(
    `The mirror still holds values that the privacy policy hides, of ${listedNames(shown)}. Nothing was published, and the copy from before is ` +
      "unchanged. The next run hides them: 'customer-mirror sync', then publish again.",
    { code: 'unhidden' },
  )
}
