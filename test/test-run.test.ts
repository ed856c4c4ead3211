import { globSync, statfsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { onThisMachine } from './support/eventually.ts'
import { testsOfThisMirror } from './support/mirror-choice.ts'
import { readProgram } from './support/program.ts'
import { seeds, someOf } from './support/seeds.ts'
import { temporaryFolder } from './support/temp-folder.ts'
import { memoryFolder, notInThisRun } from './support/test-run.ts'

const PROJECT = fileURLToPath(new URL('..', import.meta.url))
const TESTS = readProgram().filter(({ path }) => path.startsWith('test/'))

/** The test files that hold this, which no test may. */
function holding(pattern: RegExp): string[] {
  return TESTS.filter(({ path, code }) => path !== 'test/test-run.test.ts' && pattern.test(code)).map(
    ({ path }) => path,
  )
}

describe('the number of random examples', () => {
  test.each([
    ['a tenth', 3500, {}, 350],
    ['a tenth, rounded up', 101, {}, 11],
    ['another part', 3500, { every: 50 }, 70],
    ['ten at least', 40, {}, 10],
    ['as many at least as the test says', 300, { least: 60 }, 60],
    ['never more than all', 4, {}, 4],
    ['all, in a deep run', 3500, { isDeep: true, deepShare: 1 }, 3500],
    ['the part of a deep run that is asked for', 3500, { isDeep: true, deepShare: 0.3 }, 1050],
  ])('%s', (_, all, options, drawn) => {
    expect(seeds(all, { isDeep: false, ...options })).toBe(drawn)
  })

  test('of a long table every third case is tried, the first and the last among them, and in a deep run all', () => {
    const all = [1, 2, 3, 4, 5, 6, 7, 8]
    expect(someOf(all, { isDeep: false })).toEqual([1, 4, 7, 8])
    expect(someOf(all, { every: 5, isDeep: false })).toEqual([1, 6, 8])
    expect(someOf(all, { isDeep: true })).toEqual(all)
  })

  test('hundreds are drawn nowhere but through seeds', () => {
    expect(holding(/numRuns: \d{3}|seed <= \d{3}/)).toEqual([])
  })
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

test('tests have their files in memory only where it has a folder with room', () => {
  const folder = temporaryFolder()
  const { bavail, bsize } = statfsSync(folder)

  expect(memoryFolder(folder, { roomBytes: bavail * bsize * 2 })).toBeUndefined()
  expect(memoryFolder(folder, { roomBytes: 1 })).toBe(folder)
  expect(memoryFolder(`${folder}/none`)).toBeUndefined()
})

describe('a busy machine fails no test', () => {
  test('no test has a time limit of its own: the one in vitest.config.ts is for what hangs', () => {
    expect(holding(/\{ timeout: [\w.]+ \}|^\}, [\d_]+\)$/m)).toEqual([])
  })

  test('no test waits with the limit of one second that vi.waitFor has', () => {
    expect(holding(/\bvi\.(waitFor|waitUntil)\(/)).toEqual([])
  })

  test.each([
    ['no longer', 'nothing else runs', 1, 10_000],
    ['no longer', 'each program has a core', 2, 10_000],
    ['five times as long', 'ten programs share two cores', 10, 50_000],
  ])('what may take ten seconds may take %s where %s', (_, _where, programs, ms) => {
    expect(onThisMachine(10_000, { programs, cores: 2 })).toBe(ms)
  })
})
