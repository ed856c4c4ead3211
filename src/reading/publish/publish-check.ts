import { accessSync, constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from '../../errors/faults.ts'
import { copyError } from '../files/copy-error.ts'
import { nearestFolder } from '../../machine/make-folder.ts'
import { fileError } from '../../store/port/sqlite-errors.ts'
import { requireOtherFolder } from './copy-folder.ts'
import { copyTargets } from './copy-target.ts'
import { groupNumber } from './group-number.ts'
import type { PublishPlan } from './publish-plan.ts'
import { requirePublishable } from './publish.ts'
import { isPostgres } from '../../address/mirror-address.ts'

/**
 * The files of a plan, for the organizations that it names. Throws, without writing anything, what publishing would throw: UsageError
 * for a target or a group that cannot be, UsageError where this user may not write, and MirrorUnusable where the mirror may not be read.
 */
export function checkTargets(plan: PublishPlan): string[] {
  const targets = copyTargets(plan, plan.organizations)
  for (const { file, group } of targets) {
    if (group !== undefined) groupNumber(group)
    if (!isPostgres(plan.mirror)) {
      // Whether a target leads to the mirror by another name shows only once there is one.
      if (isReadable(plan.mirror)) requirePublishable(file, plan.mirror)
      else requireOtherFolder(file, plan.mirror)
    }
    requireWritable(file)
  }
  return targets.map(({ file }) => file)
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

function requireWritable(file: string): void {
  const folder = nearestFolder(dirname(file))
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw copyError(error, file)
  }
}
