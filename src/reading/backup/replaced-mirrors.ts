import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { listOlder } from '../dated-name.ts'
import { isPostgres } from '../../address/mirror-address.ts'

/** The mirrors that restores have replaced, beside the one at `file`, oldest first; none of a database. */
export function replacedMirrors(mirror: string): string[] {
  return !isPostgres(mirror) && existsSync(mirror) ? listOlder(replacedName(realpathSync(mirror))) : []
}

/** The name of replaced mirrors without their time: `customers-replaced.db`. */
export function replacedName(mirror: string): string {
  const ending = extname(mirror)
  return join(dirname(mirror), `${basename(mirror, ending)}-replaced${ending}`)
}
