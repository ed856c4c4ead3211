import { describe, expect, test } from 'vitest'
import { onThisMachine } from './support/busy-machine.ts'
import { readProgram, type SourceFile } from './support/program.ts'
import { pureTests } from './support/pure-tests.ts'
import { seeds, someOf } from './support/seeds.ts'

const TESTS = readProgram().filter(({ path }) => path.startsWith('test/'))

/** The test files that hold this, which no test may. */
function holding(pattern: RegExp): string[] {
  return TESTS.filter(({ path, code }) => path !== 'test/test-run.test.ts' && pattern.test(code)).map(
    ({ path }) => path,
  )
}

describe('how many examples are drawn', () => {
  test.each([
    ['a tenth', 3500, {}, 350],
    ['a tenth, rounded up', 101, {}, 11],
    ['ten at least', 40, {}, 10],
    ['as many at least as the test says', 300, { least: 60 }, 60],
    ['never more than all', 4, {}, 4],
    ['all, in a deep run', 3500, { isDeep: true }, 3500],
  ])('%s', (_, all, options, drawn) => {
    expect(seeds(all, { isDeep: false, ...options })).toBe(drawn)
  })

  test('of a long table every third case is tried, the first and the last among them, and in a deep run all', () => {
    const all = [1, 2, 3, 4, 5, 6, 7, 8]
    expect(someOf(all, { isDeep: false })).toEqual([1, 4, 7, 8])
    expect(someOf(all, { isDeep: true })).toEqual(all)
  })

  test('hundreds are drawn nowhere but through seeds', () => {
    expect(holding(/numRuns: \d{3}|seed <= \d{3}/)).toEqual([])
  })
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

describe('a test shares its process with others only where it is pure, with all that it imports', () => {
  const found = pureTests(readProgram())

  test('those of the scan do, those that start something do not', () => {
    const ofTheScan = TESTS.map(({ path }) => path).filter((path) => /^test\/scan\/.*\.test\.ts$/.test(path))
    expect(found).toEqual(expect.arrayContaining(ofTheScan))
    expect(found.filter((path) => /^test\/(source\/request|crash|cli\/sync|jobs\/worker)/.test(path))).toEqual([])
  })

  const aFile = (path: string, changes: Partial<SourceFile> = {}): SourceFile => ({
    ...{ path, lines: 1, code: '', imports: [], lazyImports: [] },
    ...changes,
  })
  const importing = (target: string, typeOnly = false) => ({ imports: [{ target, typeOnly }] })

  test.each<[string, boolean, Partial<SourceFile>, Partial<SourceFile>]>([
    ['what computes', true, importing('zod'), {}],
    ['a type of something that is not pure', true, importing('undici', true), {}],
    ['a package that opens connections', false, importing('undici'), {}],
    ['a process, further down', false, {}, importing('node:child_process')],
    ['native code, loaded when it is needed', false, {}, { lazyImports: ['better-sqlite3'] }],
    ['another clock', false, { code: 'vi.useFakeTimers()' }, {}],
    ['the environment', false, {}, { code: `process.env['PATH'] = ''` }],
  ])('%s: %s', (_, isPure, ofTest, ofImported) => {
    const file = aFile('test/a.test.ts', ofTest)
    const both = { ...file, imports: [...file.imports, { target: 'src/a.ts', typeOnly: false }] }
    expect(pureTests([both, aFile('src/a.ts', ofImported)])).toEqual(isPure ? ['test/a.test.ts'] : [])
  })
})
