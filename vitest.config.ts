import { availableParallelism } from 'node:os'
import { argv, env } from 'node:process'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { notOnThisMirror, onPostgres, POSTGRES_USER, testsOfThisMirror } from './test/support/mirror-choice.ts'
import { memoryFolder, notInThisRun, notOnThisQueue } from './test/support/test-run.ts'

/** A test waits for what is to happen, however long a busy machine takes. A limit ends only what would never end. */
const LIMIT_MS = 600_000

/** The part of all examples that a deep run draws; 0 for `npm test`, which draws a tenth or less. */
const deepShare = Number(env['CUSTOMER_MIRROR_TEST_DEEP'] ?? 0)
const isDeep = deepShare > 0
/** A deep run has its files on the disk. */
const folder = isDeep ? undefined : memoryFolder()

export default defineConfig({
  test: {
    include: testsOfThisMirror({ isDeep }),
    exclude: [
      ...configDefaults.exclude,
      ...notOnThisQueue(),
      ...notOnThisMirror({ isDeep, args: argv }),
      ...notInThisRun({ isDeep, args: argv }),
    ],
    // To load the program anew for each file took half the time: files share processes, and leave them as they were.
    isolate: false,
    // Node reads the files as the program is run: it strips the types itself, and keeps what it compiled.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Some tests mostly wait, for a process or a timer: one file more at once than there are cores.
    maxWorkers: availableParallelism() + 1,
    // PGlite is compiled once, not optimized as well: that took a second of each process, and no statement runs long enough to gain by it.
    // With more room for what is new, and for what is not, a tenth of the processor time is saved that went into collecting it.
    execArgv: [
      '--liftoff-only',
      '--min-semi-space-size=32',
      '--max-semi-space-size=64',
      '--initial-old-space-size=500',
    ],
    // What was compiled is kept for the next process, as `customer-mirror` does: it starts in half the time with it.
    env: {
      NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/customer-mirror-tests', import.meta.url)),
      ...(folder !== undefined && { TMPDIR: folder }),
      // A terminal of a test is one that redraws its lines, wherever the tests run.
      TERM: 'xterm',
      CI: '',
      // The addresses of mirrors in messages name no user.
      ...(onPostgres && { PGUSER: POSTGRES_USER }),
    },
    setupFiles: ['test/support/each-file.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    provide: { isDeep, deepShare },
    testTimeout: LIMIT_MS,
    hookTimeout: LIMIT_MS,
    expect: { poll: { timeout: LIMIT_MS / 2 } },
  },
})
