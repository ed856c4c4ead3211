import { env } from 'node:process'
import fc from 'fast-check'
import { seeds } from './seeds.ts'

/**
 * Every run of the tests draws the same examples, so that a failure is the change's and not the day's. Others are drawn with
 * `CUSTOMER_MIRROR_TEST_SEED=$RANDOM npm test`; what fails prints the seed that shows it again.
 */
fc.configureGlobal({ seed: Number(env['CUSTOMER_MIRROR_TEST_SEED'] ?? 1), numRuns: seeds(100) })
