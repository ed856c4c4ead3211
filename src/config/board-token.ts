import { ConfigError } from '../errors/errors.ts'
import { processEnvironment } from './environment.ts'

/** The token for the pages at /queues; undefined when there is none. Short tokens are refused. */
export function boardToken(): string | undefined {
  const token = processEnvironment()['CUSTOMER_MIRROR_BOARD_TOKEN']
  if (token === undefined || token === '') return undefined
  if (token.length >= SHORTEST) return token
  throw new ConfigError([
    { file: 'environment CUSTOMER_MIRROR_BOARD_TOKEN', message: `must have at least ${SHORTEST} characters` },
  ])
}

const SHORTEST = 16
