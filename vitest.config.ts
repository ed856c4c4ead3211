import { env } from 'node:process'
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
    // Tests wait a lot, for processes and timers: as many files at once as there are cores, not one less.
    maxWorkers: '100%',
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
