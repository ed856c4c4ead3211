import { existsSync } from 'node:fs'
import type { Config } from '../../config/read-config.ts'
import { configuredPlan, placeOf } from './configured-plan.ts'
import { copyTargets } from './copy-target.ts'
import { olderCopies } from './older-copies.ts'
import { unfinishedCopies } from './unfinished-copy.ts'

/**
 * The copies that the configuration publishes and that may hold rows of an organization, as far as they exist; then older ones, and what
 * publishes left that were killed.
 */
export function copiesThatHold(config: Config, organization: string): string[] {
  const plan = configuredPlan(config)
  if (plan === undefined) return []
  // Whether an object holds it would take a look at the bucket, which may be out of reach.
  if (!('file' in plan)) return [placeOf(plan)]
  return copyTargets(plan, [organization]).flatMap(({ file }) => [
    ...(existsSync(file) ? [file] : []),
    ...olderCopies(file).toReversed(),
    ...unfinishedCopies(file),
  ])
}
