import type { Config } from '../config/read-config.ts'
import { replacedMirrors } from './backup/replaced-mirrors.ts'
import { isMissing } from '../machine/is-missing.ts'
import { lookBeside } from './look-beside.ts'
import { configuredPlan, placeOf } from './publish/configured-plan.ts'
import { copyTargets } from './publish/copy-target.ts'
import { olderCopies } from './publish/older-copies.ts'
import { unfinishedCopies } from './publish/unfinished-copy.ts'

/** Files that may hold rows of an organization after the mirror has forgotten them: copies for readers, and mirrors that were replaced. */
type CopiesLeft = { copies: string[]; replaced: string[] }

/**
 * Lists them now, and again when the function that it returns is called: a publish that was under way may have made or renamed some
 * meanwhile. Throws MirrorUnusable where they cannot be listed, which is known before anything is deleted; later, what was listed first
 * is returned.
 */
export function listCopiesLeft(config: Config, organization: string): () => CopiesLeft {
  const list = () => ({ copies: copiesThatHold(config, organization), replaced: replacedMirrors(config.mirror) })
  const before = list()
  return () => {
    try {
      return list()
    } catch {
      return before
    }
  }
}

/**
 * The copies that the configuration publishes and that may hold rows of an organization, as far as they exist; then older ones, and what
 * publishes left that were killed. Throws MirrorUnusable for a folder that cannot be looked through.
 */
function copiesThatHold(config: Config, organization: string): string[] {
  const plan = configuredPlan(config)
  if (plan === undefined) return []
  // Whether an object holds it would take a look at the bucket, which may be out of reach.
  if (!('file' in plan)) return [placeOf(plan)]
  return copyTargets(plan, [organization]).flatMap(({ file }) => lookBeside(file, () => copiesAt(file)))
}

function copiesAt(file: string): string[] {
  return [...(isMissing(file) ? [] : [file]), ...olderCopies(file).toReversed(), ...unfinishedCopies(file)]
}
