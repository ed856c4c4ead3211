import type { Config } from '../../config/read-config.ts'
import { isMissing } from '../../machine/is-missing.ts'
import { lookBeside } from '../look-beside.ts'
import { configuredPlan, placeOf } from './configured-plan.ts'
import { copyTargets } from './copy-target.ts'
import { olderCopies } from './older-copies.ts'
import { unfinishedCopies } from './unfinished-copy.ts'

/**
 * The copies that the configuration publishes and that may hold rows of an organization, as far as they exist; then older ones, and what
 * publishes left that were killed. Throws MirrorUnusable for a folder that cannot be looked through.
 */
export function copiesThatHold(config: Config, organization: string): string[] {
  const plan = configuredPlan(config)
  if (plan === undefined) return []
  // Whether an object holds it would take a look at the bucket, which may be out of reach.
  if (!('file' in plan)) return [placeOf(plan)]
  return copyTargets(plan, [organization]).flatMap(({ file }) => lookBeside(file, () => copiesAt(file)))
}

function copiesAt(file: string): string[] {
  return [...(isMissing(file) ? [] : [file]), ...olderCopies(file).toReversed(), ...unfinishedCopies(file)]
}
