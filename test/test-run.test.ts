import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { testsOfThisMirror } from './support/mirror-choice.ts'
import { readProgram } from './support/program.ts'
import { notInThisRun } from './support/test-run.ts'

const PROJECT = fileURLToPath(new URL('..', import.meta.url))
const TESTS = readProgram().filter(({ path }) => path.startsWith('test/'))

/** The test files that hold this, which no test may. */
function holding(pattern: RegExp): string[] {
  return TESTS.filter(({ path, code }) => path !== 'test/test-run.test.ts' && pattern.test(code)).map(
    ({ path }) => path,
  )
}

test('hundreds of examples are drawn nowhere but through seeds', () => {
  expect(holding(/numRuns: \d{3}|seed <= \d{3}/)).toEqual([])
})

describe('files of long tests', () => {
  test('each has a file beside it that tests its subject in `npm test`', () => {
    const paths = TESTS.map(({ path }) => path)
    const deep = paths.filter((path) => path.endsWith('.deep.test.ts'))

    expect(deep.length).toBeGreaterThan(10)
    expect(deep.filter((path) => !paths.includes(path.replace('.deep.test.ts', '.test.ts')))).toEqual([])
  })

  test('are left out except in a deep run, and where one is named, the message says how to start it', () => {
    const named = { args: ['run', 'test/crash.deep.test.ts'] }

    expect(notInThisRun({ isDeep: false, args: ['run', 'test/sync/crash.test.ts'] })).toEqual([
      'test/**/*.deep.test.ts',
    ])
    expect(notInThisRun({ isDeep: true, ...named })).toEqual([])
    expect(() => notInThisRun({ isDeep: false, ...named })).toThrow('npm run test:deep -- test/crash.deep.test.ts')
  })

  test('no test is skipped because a run is not deep', () => {
    expect(holding(/(run|skip)If\(!?inject\('isDeep'\)\)/)).toEqual([])
  })
})

test('each name of the tests that run on PostgreSQL too is that of a file', () => {
  const names = testsOfThisMirror({ isDeep: true, isServer: true })

  expect(names.length).toBeGreaterThan(10)
  expect(names.filter((name) => globSync(name, { cwd: PROJECT }).length === 0)).toEqual([])
})

describe('a busy machine fails no test', () => {
  test('no test has a time limit of its own: the one in vitest.config.ts is for what hangs', () => {
    expect(holding(/\{ timeout: [\w.]+ \}|^\}, [\d_]+\)$/m)).toEqual([])
  })

  test('no test waits with the limit of one second that vi.waitFor has', () => {
    expect(holding(/\bvi\.(waitFor|waitUntil)\(/)).toEqual([])
  })
})
