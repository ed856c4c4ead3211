import { z } from 'zod'
import { ConfigError } from '../../errors/errors.ts'
import { isPostgres } from '../../address/mirror-address.ts'
import { addressProblem, holdsPassword } from '../../address/postgres-address.ts'
import { DEFAULT_MIRROR, absoluteMirror, MIRROR_VARIABLE, mirrorOfEnvironment } from '../places.ts'
import type { Environment } from '../environment.ts'
import { namingFile, path, refusing } from '../values.ts'

const file = path
  .refine((text) => text !== ':memory:', 'must be a file: a mirror in memory would be lost')
  .check(namingFile('./data/customers.db'))

/** Where the mirror is, as written in the configuration: the path of a file, or an address without a password. */
export const mirror = z.string().check(refusing((text) => problemOf(text) ?? passwordProblem(text)))

/** The mirror that `CUSTOMER_MIRROR_MIRROR` names, which may hold a password, or else that of the file; paths are absolute. */
export function mirrorAddress(
  written: string | undefined,
  { environment, folder }: { environment: Environment; folder: string },
): string {
  const named = mirrorOfEnvironment(environment)
  const problem = named === undefined ? undefined : problemOf(named)
  if (problem !== undefined) throw new ConfigError([{ file: `environment ${MIRROR_VARIABLE}`, message: problem }])
  return absoluteMirror(named ?? written ?? DEFAULT_MIRROR, folder)
}

function problemOf(text: string): string | undefined {
  const problem = addressProblem(text)
  return problem === undefined && !isPostgres(text) ? file.safeParse(text).error?.issues[0]?.message : problem
}

/** Backups, editors and repositories spread the configuration, so it holds no password. */
function passwordProblem(text: string): string | undefined {
  if (!holdsPassword(text)) return undefined
  return `must not hold a password: put the address with it in the environment variable ${MIRROR_VARIABLE}, or the password in PGPASSWORD`
}
