import { availableParallelism } from 'node:os'
import { env } from 'node:process'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { readProgram } from './test/support/program.ts'
import { pureTests } from './test/support/pure-tests.ts'
import { notOnThisQueue } from './test/support/queue-choice.ts'

const TESTS = ['test/**/*.test.ts']
const PURE = pureTests(readProgram())

/** A test waits for what is to happen, however long a busy machine takes. A limit ends only what would never end. */
const LIMIT_MS = 180_000

export default defineConfig({
  test: {
    // Some tests mostly wait, for a process or a timer: one file more at once than there are cores.
    maxWorkers: availableParallelism() + 1,
    // What was compiled is kept for the next process, as `customer-mirror` does: it starts in half the time with it.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/customer-mirror-tests', import.meta.url)) },
    setupFiles: ['test/support/seed.ts'],
    globalSetup: ['test/support/queue-setup.ts'],
    provide: { isDeep: (env['CUSTOMER_MIRROR_TEST_DEEP'] ?? '') !== '' },
    testTimeout: LIMIT_MS,
    hookTimeout: LIMIT_MS,
    expect: { poll: { timeout: LIMIT_MS / 2 } },
    projects: [
      {
        extends: true,
        test: { name: 'apart', include: TESTS, exclude: [...configDefaults.exclude, ...notOnThisQueue(), ...PURE] },
      },
      { extends: true, test: { name: 'pure', include: PURE, isolate: false } },
    ],
  },
})
