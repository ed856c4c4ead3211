import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { listOlder } from '../dated-name.ts'

/** The mirrors that restores have replaced, beside the one at `file`, oldest first. */
export function replacedMirrors(file: string): string[] {
  return existsSync(file) ? listOlder(replacedName(realpathSync(file))) : []
}

/** The name of replaced mirrors without their time: `customers-replaced.db`. */
export function replacedName(mirror: string): string {
  const ending = extname(mirror)
  return join(dirname(mirror), `${basename(mirror, ending)}-replaced${ending}`)
}
