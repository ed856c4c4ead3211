import { z } from 'zod'
import { ConfigError } from '../errors.ts'
import { isLikeAddress, isPostgres } from '../mirror-address.ts'
import { parsePostgresAddress } from '../postgres-address.ts'
import { DEFAULT_MIRROR } from './default-mirror.ts'
import type { Environment } from './environment.ts'
import { absoluteMirror, MIRROR_VARIABLE, mirrorOfEnvironment } from './mirror-place.ts'
import { path } from './path.ts'

const file = path.refine((text) => text !== ':memory:', 'must be a file: a mirror in memory would be lost')

/** Where the mirror is, as written in the configuration: the path of a file, or an address without a password. */
export const mirror = z.string().check((context) => {
  const problem = problemOf(context.value) ?? passwordProblem(context.value)
  if (problem !== undefined) context.issues.push({ code: 'custom', message: problem, input: context.value })
})

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
  if (isPostgres(text)) {
    const parsed = parsePostgresAddress(text)
    return 'problem' in parsed ? parsed.problem : undefined
  }
  if (isLikeAddress(text)) return 'must be the path of a file, or a postgres:// address'
  return file.safeParse(text).error?.issues[0]?.message
}

/** Backups, editors and repositories spread the configuration, so it holds no password. */
function passwordProblem(text: string): string | undefined {
  if (!isPostgres(text)) return undefined
  const url = URL.parse(text)
  if (url === null || (url.password === '' && !url.searchParams.has('password'))) return undefined
  return `must not hold a password: put the address with it in the environment variable ${MIRROR_VARIABLE}, or the password in PGPASSWORD`
}
