import { z } from 'zod'
import { absoluteMirror, DEFAULT_MIRROR, isPostgres } from '../address/mirror-address.ts'
import {
  addressProblem,
  BAD_ESCAPE,
  decoded,
  holdsPassword,
  parsePostgresAddress,
  portProblem,
  QUEUE_PARAMETERS,
} from '../address/postgres-address.ts'
import { ConfigError } from '../errors/errors.ts'
import { MIRROR_VARIABLE, mirrorOfEnvironment, type Environment } from './environment.ts'
import { namingFile, path, refusing } from './values.ts'

/*
 * Where the mirror is, and the queue.
 */

const mirrorFile = path
  .refine((text) => text !== ':memory:', 'must be a file: a mirror in memory would be lost')
  .check(namingFile('./data/customers.db'))

/** Where the mirror is, as written in the configuration: the path of a file, or an address without a password. */
export const mirrorPlace = z.string().check(refusing((text) => mirrorProblem(text) ?? passwordProblem(text)))

/** The mirror that `CUSTOMER_MIRROR_MIRROR` names, which may hold a password, or else that of the file; paths are absolute. */
export function mirrorAddress(
  written: string | undefined,
  { environment, folder }: { environment: Environment; folder: string },
): string {
  const named = mirrorOfEnvironment(environment)
  const problem = named === undefined ? undefined : mirrorProblem(named)
  if (problem !== undefined) throw new ConfigError([{ file: `environment ${MIRROR_VARIABLE}`, message: problem }])
  return absoluteMirror(named ?? written ?? DEFAULT_MIRROR, folder)
}

function mirrorProblem(text: string): string | undefined {
  const problem = addressProblem(text)
  return problem === undefined && !isPostgres(text) ? mirrorFile.safeParse(text).error?.issues[0]?.message : problem
}

/** Backups, editors and repositories spread the configuration, so it holds no password. */
function passwordProblem(text: string): string | undefined {
  if (!holdsPassword(text)) return undefined
  return `must not hold a password: put the address with it in the environment variable ${MIRROR_VARIABLE}, or the password in PGPASSWORD`
}

const QUEUE_FORMS = 'must be a redis://, rediss:// or postgres:// address, or the word embedded'

export const queueAddress = z
  .string()
  .regex(/^(?:embedded|(?:rediss?|postgres(?:ql)?):\/\/\S+)$/, { error: QUEUE_FORMS, abort: true })
  .check(refusing(queueProblem))

function queueProblem(text: string): string | undefined {
  if (text === 'embedded') return undefined
  return (isPostgres(text) ? postgresProblem(text) : redisProblem(text)) ?? prefixProblem(text)
}

function postgresProblem(text: string): string | undefined {
  const parsed = parsePostgresAddress(text, ['prefix', ...QUEUE_PARAMETERS])
  return 'problem' in parsed ? parsed.problem : undefined
}

function prefixProblem(text: string): string | undefined {
  const prefix = URL.parse(text)?.searchParams.get('prefix') ?? undefined
  if (prefix === undefined || /^(?=.{1,64}$)(\{[\w.-]+\})?[\w.-]*$/.test(prefix)) return undefined
  return 'has a bad prefix: at most 64 letters, digits, dots, dashes and underscores, the first of them in braces for a cluster of Redis'
}

/**
 * The driver takes a path that is no number, and every option of its own as a parameter: with some of them it ends the process, or
 * never answers. A part of a password may stand in any of these places, so none is repeated.
 */
function redisProblem(text: string): string | undefined {
  const url = URL.parse(text)
  if (url === null || url.port === '0') return portProblem(text) ?? QUEUE_FORMS
  if (decoded(url.username) === undefined || decoded(url.password) === undefined) return BAD_ESCAPE
  if (url.hash !== '') return 'has a #: write a # of a name or a password as %23'
  if (!/^(?:\/\d{0,9})?$/.test(url.pathname))
    return 'must have nothing but the number of a database after its host, such as redis://127.0.0.1:6379/0; write a / of a password as %2F'
  const names = [...url.searchParams.keys()]
  if (names.some((name) => !REDIS_PARAMETERS.includes(name)))
    return `has an unknown parameter: known are ${REDIS_PARAMETERS.join(' and ')}; write a ? of a password as %3F`
  if (new Set(names).size < names.length) return 'gives a parameter twice: keep one'
  return /^[046]$/.test(url.searchParams.get('family') ?? '0') ? undefined : 'has a bad family: it must be 4, 6 or 0'
}

/** `family` is that of the IP addresses: private networks of some hosts have IPv6 alone. */
const REDIS_PARAMETERS = ['prefix', 'family']

/** The address in `CUSTOMER_MIRROR_QUEUE`, which may contain a password; undefined when it is not set. */
export function queueOfEnvironment(environment: Environment): string | undefined {
  const text = environment['CUSTOMER_MIRROR_QUEUE']
  if (text === undefined || text === '') return undefined
  const parsed = queueAddress.safeParse(text)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new ConfigError([{ file: 'environment CUSTOMER_MIRROR_QUEUE', message: issue?.message ?? QUEUE_FORMS }])
}

/** Whether the queue in use holds a password that stands in the configuration file. */
export function isPasswordInFile(queue: string, environment: Environment): boolean {
  return queueOfEnvironment(environment) === undefined && (URL.parse(queue)?.password ?? '') !== ''
}
