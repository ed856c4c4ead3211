import { z } from 'zod'
import { ConfigError } from '../errors.ts'
import type { Environment } from './environment.ts'

const MESSAGE = 'must be a redis://, rediss:// or postgres:// address, or the word embedded'

/** The address of the worker's queue. */
export const queueAddress = z
  .string()
  .regex(/^(?:embedded|(?:rediss?|postgres(?:ql)?):\/\/\S+)$/, MESSAGE)
  .refine((text) => text === 'embedded' || URL.canParse(text), MESSAGE)

/** The address in `CUSTOMER_MIRROR_QUEUE`, which may contain a password; undefined when it is not set. */
export function queueOfEnvironment(environment: Environment): string | undefined {
  const text = environment['CUSTOMER_MIRROR_QUEUE']
  if (text === undefined || text === '') return undefined
  const parsed = queueAddress.safeParse(text)
  if (parsed.success) return parsed.data
  throw new ConfigError([{ file: 'environment CUSTOMER_MIRROR_QUEUE', message: MESSAGE }])
}
