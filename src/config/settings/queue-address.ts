import { z } from 'zod'
import { ConfigError } from '../../errors/errors.ts'
import { isPostgres } from '../../address/mirror-address.ts'
import {
  BAD_ESCAPE,
  decoded,
  parsePostgresAddress,
  portProblem,
  QUEUE_PARAMETERS,
} from '../../address/postgres-address.ts'
import type { Environment } from '../environment.ts'
import { refusing } from '../values.ts'

const MESSAGE = 'must be a redis://, rediss:// or postgres:// address, or the word embedded'

/** The address of the worker's queue. */
export const queueAddress = z
  .string()
  .regex(/^(?:embedded|(?:rediss?|postgres(?:ql)?):\/\/\S+)$/, { error: MESSAGE, abort: true })
  .check(refusing(problemOf))

function problemOf(text: string): string | undefined {
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
  if (url === null || url.port === '0') return portProblem(text) ?? MESSAGE
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
  throw new ConfigError([{ file: 'environment CUSTOMER_MIRROR_QUEUE', message: issue?.message ?? MESSAGE }])
}

/** Whether the queue in use holds a password that stands in the configuration file. */
export function isPasswordInFile(queue: string, environment: Environment): boolean {
  return queueOfEnvironment(environment) === undefined && (URL.parse(queue)?.password ?? '') !== ''
}
