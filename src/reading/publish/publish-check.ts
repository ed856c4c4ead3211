import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { CopyFailed } from '../../errors/errors.ts'
import { nearestFolder } from '../../machine/make-folder.ts'
import { copyTargets } from './copy-target.ts'
import { groupNumber } from './group-number.ts'
import type { PublishPlan } from './publish-plan.ts'
import { requirePublishable } from './publish.ts'
import { isPostgres } from '../../address/mirror-address.ts'

/**
 * The files of a plan, for the organizations that it names. Throws, without writing anything, what publishing would throw: UsageError
 * for a target or a group that cannot be, and CopyFailed where this user may not write.
 */
export function checkTargets(plan: PublishPlan): string[] {
  const targets = copyTargets(plan, plan.organizations)
  for (const { file, group } of targets) {
    if (group !== undefined) groupNumber(group)
    // Whether a target is the mirror shows only once there is one.
    if (!isPostgres(plan.mirror) && existsSync(plan.mirror)) requirePublishable(file, plan.mirror)
    requireWritable(file)
  }
  return targets.map(({ file }) => file)
}

function requireWritable(file: string): void {
  const folder = nearestFolder(dirname(file))
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new CopyFailed(
      `${file}: this user may not write into ${folder}. Change who owns that folder, or name another file.`,
      { code: 'copy-unwritable' },
      { cause: error },
    )
  }
}
