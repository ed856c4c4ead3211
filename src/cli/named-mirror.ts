import { absoluteMirror } from '../config/mirror-place.ts'
import { UsageError } from '../errors.ts'
import { isLikeAddress, isPostgres } from '../mirror-address.ts'
import { parsePostgresAddress } from '../postgres-address.ts'

/** A mirror named on the command line: an absolute path, or an address. Throws UsageError for one that cannot be, or with a password. */
export function namedMirror(text: string, option = '--mirror'): string {
  if (!isPostgres(text)) {
    if (isLikeAddress(text)) throw new UsageError(`${option} must be the path of a file, or a postgres:// address`)
    return absoluteMirror(text, process.cwd())
  }
  const parsed = parsePostgresAddress(text)
  if ('problem' in parsed) throw new UsageError(`${option} ${parsed.problem}`)
  if (parsed.address.password !== undefined)
    throw new UsageError(
      `${option} holds a password, which every user of this machine can see in the list of processes. Put it in PGPASSWORD ` +
        'or a password file (~/.pgpass), and change it.',
    )
  return absoluteMirror(text, process.cwd())
}
