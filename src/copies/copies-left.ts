import { join } from 'node:path'
import type { Config } from '../config/read-config.ts'
import { isMissing } from '../machine/folders.ts'
import { lookBeside } from '../store/sqlite/open-to-read.ts'
import { olderCopies } from './copy-manifest.ts'
import { partitionFolder } from './objects/object-place.ts'
import { configuredPlans, placeOf, type TargetPlan } from './publish-plan.ts'
import { replacedMirrors } from './older-files.ts'
import { copyTargets } from './target-place.ts'
import { listUnfinished } from './written-file.ts'

/** Files that may hold rows of an organization after the mirror has forgotten them: copies for readers, and mirrors that were replaced. */
type CopiesLeft = { copies: string[]; replaced: string[] }

/**
 * Lists them now, and again when the function that it returns is called: a publish that was under way may have made or renamed some
 * meanwhile. Throws MirrorUnusable where they cannot be listed, which is known before anything is deleted; later, what was listed first
 * is returned.
 */
export function listCopiesLeft(config: Config, organization: string): () => CopiesLeft {
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
  if ('file' in plan)
    return copyTargets(plan, [organization]).flatMap(({ file }) => lookBeside(file, () => copiesAt(file)))
  // Whether an object holds it would take a look at the bucket, which may be out of reach.
  if ('to' in plan) return [placeOf(plan)]
  const file = join(plan.parquet, partitionFolder(organization), 'part-0.parquet')
  return lookBeside(file, () => copiesAt(file))
}

function copiesAt(file: string): string[] {
  return [...(isMissing(file) ? [] : [file]), ...olderCopies(file).toReversed(), ...listUnfinished(file)]
}
