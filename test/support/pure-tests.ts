import type { SourceFile } from './program.ts'

/** Packages and parts of Node that compute, or read and write files: none that starts, listens, connects or is native. */
const HARMLESS = new RegExp(
  `^(${[
    ...['vitest', 'fast-check', 'zod', 'yaml', 'leven', 'cron-parser', 'p-limit', 'commander'],
    '@commander-js/extra-typings',
    'node:(assert|buffer|crypto|events|fs|fs/promises|os|path|string_decoder|timers|timers/promises|url|util|zlib)',
  ].join('|')})$`,
)

/**
 * What outlives the test that does it: another clock, a replaced function, a change of the process. Code that only hands the
 * environment on changes nothing.
 */
const LEAVES_TRACES = /\bvi\.|\bprocess\.(?!env$)|\bglobalThis\b/m

/**
 * The test files that are pure, together with everything they import: they leave nothing behind in their process, so they can
 * share one. They are found and not listed, so that no list has to be kept.
 */
export function pureTests(files: readonly SourceFile[]): string[] {
  const ours = new Map(files.map((file) => [file.path, file]))
  const isPure = (path: string) => {
    const file = ours.get(path)
    return file === undefined ? HARMLESS.test(path) : !LEAVES_TRACES.test(file.code)
  }
  return [...ours.keys()].filter((path) => path.endsWith('.test.ts') && [...reachedFrom(path, ours)].every(isPure))
}

/** A file and all that is loaded with it or later on: files by path, packages by name. */
function reachedFrom(path: string, ours: ReadonlyMap<string, SourceFile>, reached = new Set<string>()): Set<string> {
  if (reached.has(path)) return reached
  reached.add(path)
  const { imports = [], lazyImports = [] } = ours.get(path) ?? {}
  for (const { target, typeOnly } of imports) if (!typeOnly) reachedFrom(target, ours, reached)
  for (const target of lazyImports) reachedFrom(target, ours, reached)
  return reached
}
