import { z } from 'zod'
import { absoluteMirror, isPostgres } from '../address/mirror-address.ts'
import { addressParts, addressProblem, holdsPassword, QUEUE_PARAMETERS } from '../address/postgres-address.ts'
import { MIRROR_VARIABLE, mirrorOfEnvironment, refuseVariable, type Environment } from './environment.ts'
import { namingFile, path, refusing } from './values.ts'

/** Where the mirror is if the configuration names none, beside the configuration. */
export const DEFAULT_MIRROR = './data/customers.db'

const mirrorFile = path
  .refine((text) => text !== ':memory:', 'must be a file: a mirror in memory would be lost')
  .check(namingFile(DEFAULT_MIRROR))

/** Where the mirror is: the path of a file, or an address, without a password, since a configuration is spread by backups and repositories. */
export const mirrorPlace = z
  .string()
  .check(refusing(mirrorProblem))
  .refine(
    (text) => !holdsPassword(text),
    `must not hold a password: put the address with it in the environment variable ${MIRROR_VARIABLE}, or the password in PGPASSWORD`,
  )

/** The mirror that `CUSTOMER_MIRROR_MIRROR` names, which may hold a password, or else that of the file; paths are absolute. */
export function mirrorAddress(written: string | undefined, environment: Environment, folder: string): string {
  const named = mirrorOfEnvironment(environment)
  refuseVariable(MIRROR_VARIABLE, named && mirrorProblem(named))
  return absoluteMirror(named ?? written ?? DEFAULT_MIRROR, folder)
}

function mirrorProblem(text: string): string | undefined {
  const problem = addressProblem(text)
  return problem === undefined && !isPostgres(text) ? mirrorFile.safeParse(text).error?.issues[0]?.message : problem
}

export const queueAddress = z.string().check(refusing(queueProblem))

function queueProblem(text: string): string | undefined {
  if (text === 'embedded') return undefined
  if (!/^(?:rediss?|postgres(?:ql)?):\/\/\S+$/.test(text))
    return 'must be a redis://, rediss:// or postgres:// address, or the word embedded'
  const problem = isPostgres(text) ? addressProblem(text, ['prefix', ...QUEUE_PARAMETERS]) : redisProblem(text)
  const prefix = URL.parse(text)?.searchParams.get('prefix') ?? ''
  if (problem !== undefined || /^(?=.{0,64}$)(\{[\w.-]+\})?[\w.-]*$/.test(prefix)) return problem
  return 'has a bad prefix: at most 64 letters, digits, dots, dashes and underscores, the first of them in braces for a cluster of Redis'
}

/** The driver takes any path, and its own options as parameters, of which some end the process. Some private networks have IPv6 alone: `family`. */
function redisProblem(text: string): string | undefined {
  const parts = addressParts(text, ['prefix', 'family'], 'redis://127.0.0.1:6379/0')
  if ('problem' in parts) return parts.problem
  if (!/^\d{0,9}$/.test(parts.path))
    return 'must have nothing but the number of a database after its host, such as redis://127.0.0.1:6379/0; write a / of a password as %2F'
  return /^[046]$/.test(parts.query.get('family') ?? '0') ? undefined : 'has a bad family: it must be 4, 6 or 0'
}

/** The address in `CUSTOMER_MIRROR_QUEUE`, which may contain a password; undefined when it is not set. */
export function queueOfEnvironment(environment: Environment): string | undefined {
  const text = environment['CUSTOMER_MIRROR_QUEUE'] || undefined
  refuseVariable('CUSTOMER_MIRROR_QUEUE', text && queueProblem(text))
  return text
}

export function isPasswordInFile(queue: string, environment: Environment): boolean {
  return queueOfEnvironment(environment) === undefined && (URL.parse(queue)?.password ?? '') !== ''
}
