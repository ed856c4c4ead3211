import { z } from 'zod'
import { ConfigError } from '../errors.ts'
import { isPostgres } from '../address/mirror-address.ts'
import { parsePostgresAddress, QUEUE_PARAMETERS } from '../address/postgres-address.ts'
import type { Environment } from './environment.ts'

const MESSAGE = 'must be a redis://, rediss:// or postgres:// address, or the word embedded'

/** The address of the worker's queue. */
export const queueAddress = z
  .string()
  .regex(/^(?:embedded|(?:rediss?|postgres(?:ql)?):\/\/\S+)$/, MESSAGE)
  .superRefine((text, context) => {
    const problem = problemOf(text)
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
  })

function problemOf(text: string): string | undefined {
  if (text === 'embedded') return undefined
  if (!isPostgres(text)) return URL.canParse(text) ? undefined : MESSAGE
  const parsed = parsePostgresAddress(text, ['prefix', ...QUEUE_PARAMETERS])
  return 'problem' in parsed ? parsed.problem : undefined
}

/** The address in `CUSTOMER_MIRROR_QUEUE`, which may contain a password; undefined when it is not set. */
export function queueOfEnvironment(environment: Environment): string | undefined {
  const text = environment['CUSTOMER_MIRROR_QUEUE']
  if (text === undefined || text === '') return undefined
  const parsed = queueAddress.safeParse(text)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new ConfigError([{ file: 'environment CUSTOMER_MIRROR_QUEUE', message: issue?.message ?? MESSAGE }])
}
