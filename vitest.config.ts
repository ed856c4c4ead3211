import { configDefaults, defineConfig } from 'vitest/config'
import { notOnThisQueue } from './test/support/queue-choice.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...notOnThisQueue()],
    setupFiles: ['test/support/seed.ts'],
    globalSetup: ['test/support/queue-setup.ts'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
})
