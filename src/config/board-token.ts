import { ConfigError } from '../errors.ts'
import { processEnvironment, type Environment } from './environment.ts'

/** The token that opens the pages of the queues; undefined when they are not asked for. Short ones are not accepted. */
export function boardToken(environment: Environment = processEnvironment()): string | undefined {
  const token = environment['CUSTOMER_MIRROR_BOARD_TOKEN']
  if (token === undefined || token === '') return undefined
  if (token.length >= SHORTEST) return token
  throw new ConfigError([
    { file: 'environment CUSTOMER_MIRROR_BOARD_TOKEN', message: `must have at least ${SHORTEST} characters` },
  ])
}

const SHORTEST = 16
