import { env } from 'node:process'
import fc from 'fast-check'
import { seeds } from './seeds.ts'

/**
 * Every run of the tests draws the same examples, so that a failure comes from a change of the code. Other examples:
 * `CUSTOMER_MIRROR_TEST_SEED=$RANDOM npm test`; a failing test prints the seed that repeats it.
 */
fc.configureGlobal({ seed: Number(env['CUSTOMER_MIRROR_TEST_SEED'] ?? 1), numRuns: seeds(100) })
