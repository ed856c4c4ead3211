import { realpathSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { listOlder } from '../files/dated-name.ts'
import { isMissing } from '../../machine/is-missing.ts'
import { isPostgres } from '../../address/mirror-address.ts'
import { lookBeside } from '../look-beside.ts'
import { listUnfinished } from './unfinished-file.ts'

/**
 * The mirrors that restores have replaced, beside the one at `file`, oldest first, and then what restores and moves left there that were
 * killed; none of a database. Throws MirrorUnusable for a folder that cannot be looked through.
 */
export function replacedMirrors(mirror: string): string[] {
  if (isPostgres(mirror) || isMissing(mirror)) return []
  return lookBeside(mirror, () => {
    const file = realpathSync(mirror)
    return [...listOlder(replacedName(file)), ...listUnfinished(file, 'restore'), ...listUnfinished(file, 'move')]
  })
}

/** The name of replaced mirrors without their time: `customers-replaced.db`. */
export function replacedName(mirror: string): string {
  const ending = extname(mirror)
  return join(dirname(mirror), `${basename(mirror, ending)}-replaced${ending}`)
}
