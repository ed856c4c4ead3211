import type { Config } from '../config/read-config.ts'
import { replacedMirrors } from './backup/replaced-mirrors.ts'
import { copiesThatHold } from './publish/copies-of-organization.ts'

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
