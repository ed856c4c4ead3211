import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { testsOfThisMirror } from './support/mirror-choice.ts'
import { readProgram } from './support/program.ts'
import { notInThisRun } from './support/test-run.ts'

const PROJECT = fileURLToPath(new URL('..', import.meta.url))
const TESTS = readProgram().filter(({ path }) => path.startsWith('test/'))

test.each([
  ['draws hundreds of examples but through seeds', /numRuns: \d{3}|seed <= \d{3}/],
  ['is skipped because a run is not deep', /(run|skip)If\(!?inject\('isDeep'\)\)/],
  // A busy machine fails no test: the limit in vitest.config.ts is for what hangs.
  ['has a time limit of its own', /\{ timeout: [\w.]+ \}|^\}, [\d_]+\)$/m],
  ['waits with the limit of one second that vi.waitFor has', /\bvi\.(waitFor|waitUntil)\(/],
])('no test %s', (_what, pattern) => {
  const holding = TESTS.filter(({ path, code }) => path !== 'test/test-run.test.ts' && pattern.test(code))

  expect(holding.map(({ path }) => path)).toEqual([])
})

test('each file of long tests has one beside it that tests its subject in `npm test`', () => {
  const paths = TESTS.map(({ path }) => path)
  const deep = paths.filter((path) => path.endsWith('.deep.test.ts'))

  expect(deep.length).toBeGreaterThan(10)
  expect(deep.filter((path) => !paths.includes(path.replace('.deep.test.ts', '.test.ts')))).toEqual([])
})

test('files of long tests are left out except in a deep run, and where one is named, the message says how to start it', () => {
  const named = { args: ['run', 'test/crash.deep.test.ts'] }

  expect(notInThisRun({ isDeep: false, args: ['run', 'test/sync/run.test.ts'] })).toEqual(['test/**/*.deep.test.ts'])
  expect(notInThisRun({ isDeep: true, ...named })).toEqual([])
  expect(() => notInThisRun({ isDeep: false, ...named })).toThrow('npm run test:deep -- test/crash.deep.test.ts')
})

test('each name of the tests that run on PostgreSQL too is that of a file', () => {
  const names = testsOfThisMirror({ isDeep: true, isServer: true })

  expect(names.length).toBeGreaterThan(10)
  expect(names.filter((name) => globSync(name, { cwd: PROJECT }).length === 0)).toEqual([])
})
