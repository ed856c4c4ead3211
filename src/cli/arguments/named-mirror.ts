import { absoluteMirror } from '../../config/values/mirror-place.ts'
import { UsageError } from '../../errors/errors.ts'
import { addressProblem, holdsPassword } from '../../address/postgres-address.ts'

/** A mirror named on the command line: an absolute path, or an address. Throws UsageError for one that cannot be, or with a password. */
export function namedMirror(text: string, option = '--mirror'): string {
  const problem = addressProblem(text)
  if (problem !== undefined) throw new UsageError(`${option} ${problem}`)
  if (holdsPassword(text))
    throw new UsageError(
      `${option} holds a password, which every user of this machine can see in the list of processes. Put it in PGPASSWORD ` +
        'or a password file (~/.pgpass), and change it.',
    )
  return absoluteMirror(text, process.cwd())
}
