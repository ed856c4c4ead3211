import { readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { chainsTo, importCycle, importersOf, readProgram, type SourceFile } from './support/program.ts'
import { readProse } from './support/prose.ts'

const program = readProgram()
const product = program.filter(({ path }) => /^(src|jobs)\//.test(path))
const src = product.filter(({ path }) => path.startsWith('src/'))

/** Files in which time, chance and the outside world come in as arguments, or not at all. */
const PURE = [
  /^src\/(scan|list-memory|list|page|privacy|time)\//,
  /^src\/(customer|report|storable-text|errors\/errors)\.ts$/,
  /^src\/source\/(signing\/signing|pace\/retry-after|clock\/http-date|page\/envelope)\.ts$/,
  /^jobs\/run\/outcome\.ts$/,
  /^jobs\/schedule\/(schedule-plan|acceptance|accepted-value|configuration-hash)\.ts$/,
  /^src\/run\/(sort-records|outline)\.ts$/,
  /^src\/mirror\/(removal-rule|older-list-rule|changed-fields|earlier-names|row-ids|sql-time|run-conditions|rows\/[^/]+)\.ts$/,
  /^src\/mirror\/postgres\/(storable-pages|stored-time|removals\/row-ranges)\.ts$/,
  /^src\/mirror\/(decide-pages|page-accounting|saved-page|report-of-run|absences-found|shown-names)\.ts$/,
  /^src\/mirror\/(resume-rule|stored-windows|policy-of-rows|rows-taken)\.ts$/,
  /^src\/mirror\/(retention-rule|customer-texts|organization-tables|hidden-rows)\.ts$/,
]

test('there is a program to read, and its imports are seen', () => {
  const story = src.find(({ path }) => path === 'src/mirror-organization.ts')

  expect(src.length).toBeGreaterThan(20)
  expect(story?.imports).toContainEqual({ target: 'src/run/read-list.ts', typeOnly: false })
  expect(story?.imports).toContainEqual({ target: 'src/run.ts', typeOnly: true })
  expect(importersOf(src, 'better-sqlite3')).toContain('src/mirror/sqlite/opening/database.ts')
})

describe('which files may import which', () => {
  test('src does not import jobs; commands may load jobs when they need them', () => {
    const knowing = src.flatMap(({ path, imports, lazyImports }) => [
      ...imports.filter(({ target }) => target.startsWith('jobs/')).map(() => path),
      ...lazyImports.filter((target) => target.startsWith('jobs/') && !path.startsWith('src/cli/')).map(() => path),
    ])

    expect(knowing).toEqual([])
  })

  test('src and jobs import neither tests nor benchmarks', () => {
    expect(offenders(product, (target) => /^(test|bench)\//.test(target))).toEqual([])
  })

  test('only the command line and tests import the command line', () => {
    const others = program.filter(({ path }) => !/^(src\/cli|test)\//.test(path))

    expect(offenders(others, (target) => target.startsWith('src/cli/'))).toEqual([])
  })

  const ROOMS_APART = ['source', 'scan', 'list-memory', 'mirror']
  test.each(ROOMS_APART)('%s reaches no other such folder, by any chain of imports', (folder) => {
    const files = src.filter(({ path }) => path.startsWith(`src/${folder}/`))
    const neighbours = [...ROOMS_APART, 'service', 'http', 'reading', 'config', 'run', 'cli'].filter(
      (name) => name !== folder,
    )
    const isForbidden = (target: string) =>
      target === 'src/mirror-organization.ts' || neighbours.some((name) => target.startsWith(`src/${name}/`))

    expect(files).not.toEqual([])
    expect(chainsTo(program, files, isForbidden)).toEqual([])
  })

  test('the service shares only the signing with the source', () => {
    const files = src.filter(({ path }) => path.startsWith('src/service/'))

    expect(
      offenders(files, (target) => target.startsWith('src/source/') && target !== 'src/source/signing/signing.ts'),
    ).toEqual([])
  })

  test('what every server shares knows no server, and nothing of what is served', () => {
    const files = src.filter(({ path }) => path.startsWith('src/http/'))

    expect(files).not.toEqual([])
    expect(
      chainsTo(program, files, (target) => /^(src\/(service|source|scan|mirror|config|run|cli)|jobs)\//.test(target)),
    ).toEqual([])
  })

  test('the worker and the sandbox listen in one way', () => {
    expect(importersOf(product, 'src/http/listen.ts').toSorted()).toEqual([
      'jobs/monitoring/http.ts',
      'src/service/sandbox.ts',
    ])
    expect(matching(product, /\bcreateServer\b/, /^src\/http\/listen\.ts$/)).toEqual([])
  })

  test.each([
    ['whether a process lives', /\bkill\([^)]*\b0\)/, /^src\/machine\/process-name\.ts$/],
    ['how long to back off', /Math\.min\([^)]*\* 2 \*\* /, /^src\/time\/backoff\.ts$/],
    ['which number an option takes', /It must be a whole number/, /^src\/cli\/arguments\/whole-number-argument\.ts$/],
    ['that no foreign key is checked', /\bforeign_keys = ON\b/, /^src\/mirror\/sqlite\/opening\/foreign-keys\.ts$/],
    ['what --json prints', /\bschemaVersion: 1\b/, /^src\/cli\/output\/json-document\.ts$/],
  ])('there is one way to say %s', (_what, pattern, where) => {
    expect(matching(product, pattern, where)).toEqual([])
    expect(matching(product, pattern)).toHaveLength(1)
  })

  test('no folder is made in a way that never ends in /proc', () => {
    expect(matching(product, /\bmkdir(Sync)?\(.*recursive/)).toEqual([])
  })

  test('the mirror is used only through its verbs', () => {
    const doors = ['src/mirror/mirror.ts']
    const outside = product.filter(({ path }) => !/^src\/(mirror|reading)\//.test(path))
    const reaching = outside.flatMap(({ path, imports, lazyImports }) =>
      [...imports.map(({ target }) => target), ...lazyImports]
        .filter((target) => target.startsWith('src/mirror/') && !doors.includes(target))
        .map((target) => `${path} → ${target}`),
    )

    expect(reaching).toEqual([])
  })

  test.each(['src/run.ts', 'src/store.ts'])('%s, a port, does not mention SQLite and reaches no adapter', (port) => {
    const files = src.filter(({ path }) => path === port)

    expect(files).toHaveLength(1)
    expect(readFileSync(new URL(`../${port}`, import.meta.url), 'utf8')).not.toMatch(
      /sqlite|\bSQL\b|database|connection/i,
    )
    expect(
      chainsTo(program, files, (target) => /^src\/(mirror|source|scan|service|cli)\/|sqlite/.test(target)),
    ).toEqual([])
  })

  test('no file imports itself, directly or through others', () => {
    expect(importCycle(program)).toBeUndefined()
  })
})

test.each([
  ['undici', /^src\/source\/connection\//],
  ['better-sqlite3', /^src\/(mirror|reading)\//],
  ['pg', /^(src\/mirror\/postgres|jobs\/queue)\//],
  ['@aws-sdk/client-s3', /^src\/reading\/publish\/bucket\//],
  ['hono', /^(src\/(service|http|page)|jobs)\//],
  ['@hono/node-server', /^(src\/(service|http)|jobs)\//],
  ['bullmq', /^jobs\//],
  ['ioredis', /^jobs\//],
  ['commander', /^src\/cli\//],
  ['@commander-js/extra-typings', /^src\/cli\//],
  ['pino', /^(src\/log|src\/cli\/main|jobs\/worker)\.ts$/],
])('%s is imported in one place only', (name, where) => {
  expect(importersOf(product, name).filter((path) => !where.test(path))).toEqual([])
})

describe('where the outside world is used', () => {
  /** Commands, workers, the sandbox, and the lock of a folder, whose age is in the file system. */
  const CLOCK_READERS =
    /^(src\/cli\/.*|src\/service\/sandbox|jobs\/(worker|commands\/run-once|queue\/postgres\/folder-lock))\.ts$/
  const WITHOUT_WALL_CLOCK =
    /^(src\/(run\/windows\/read-windows|machine\/sleep|source\/(pace\/rate-limit|connection\/exchange))|jobs\/queue\/(deadline|queue-watch))\.ts$/
  const PROGRAMS = /^(src\/cli\/main|jobs\/worker)\.ts$/

  test('only the configuration reads the environment', () => {
    expect(matching(product, /\bprocess\s*\.\s*env\b/, /^src\/config\//)).toEqual([])
    expect(
      matching(product, /import\s*\{[^}]*\benv\b[^}]*\}\s*from\s*['"](node:)?process['"]/, /^src\/config\//),
    ).toEqual([])
  })

  test('only the programs end the process', () => {
    expect(matching(product, /\bprocess\s*\.\s*(exit\b|exitCode\s*=[^=]|abort\b|reallyExit\b)/, PROGRAMS)).toEqual([])
    expect(matching(product, /import\s*\{[^}]*\bexit\b[^}]*\}\s*from\s*['"](node:)?process['"]/, PROGRAMS)).toEqual([])
  })

  test('only the programs listen for signals', () => {
    // The process that exports outlives its terminal, so that it can remove what it wrote.
    const listening = new RegExp(`${PROGRAMS.source}|^src/cli/reading/write-export\\.ts$`)
    expect(matching(product, /\bprocess\s*\.\s*(on|once|addListener)\s*\(/, listening)).toEqual([])
  })

  test('only the programs make a logger', () => {
    expect(matching(product, /\bpino\s*\(/, /^(src\/log|src\/cli\/main|jobs\/worker)\.ts$/)).toEqual([])
  })

  test('time and chance come in as arguments', () => {
    expect(matching(product, /\bMath\.random\(\)/, /^(src\/cli|jobs)\//)).toEqual([])
    expect(matching(product, /\bDate\.now\b|\bnew Date\(\)/, CLOCK_READERS)).toEqual([])
  })

  test('only entry points read the monotonic clock', () => {
    expect(matching(product, /\bperformance\b|\bhrtime\b/, /^src\/machine\/monotonic-clock\.ts$/)).toEqual([])
    expect(importersOf(product, 'src/machine/monotonic-clock.ts').filter((path) => !CLOCK_READERS.test(path))).toEqual(
      [],
    )
  })

  test('durations are not measured by the wall clock', () => {
    const waiting = product.filter(({ path }) => WITHOUT_WALL_CLOCK.test(path))

    expect(waiting.length).toBe(6)
    expect(matching(waiting, /\bnow\b|\bDate\b/)).toEqual([])
  })

  test('pure files use no clock, no chance, no timer and no input or output', () => {
    const pure = product.filter(({ path }) => PURE.some((pattern) => pattern.test(path)))
    const impure =
      /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bperformance\b|\brandom(UUID|Bytes|Int)\b|\bset(Timeout|Interval|Immediate)\b|\bprocess\b|\bconsole\b|\bfetch\(/

    expect(pure.length).toBeGreaterThanOrEqual(6)
    expect(matching(pure, impure)).toEqual([])
    expect(offenders(pure, (target) => target.startsWith('node:') && target !== 'node:crypto')).toEqual([])
  })

  // Node then opens standard input, and to read it fails while nothing has come: a process of ours takes its plan from there.
  test('the process is taken from where it always is, not imported', () => {
    expect(matching(product, /from 'node:process'/)).toEqual([])
  })
})

describe('the form of files', () => {
  test('no file of the product is so long that it has more than one reason', () => {
    expect(product.filter(({ lines }) => lines > 250).map(({ path, lines }) => `${path}: ${lines} lines`)).toEqual([])
  })

  test('the code map of the README has a line for every room, and for no other', () => {
    const built = program.filter(({ path }) => !path.startsWith('test/'))
    const rooms = new Set(built.map(({ path }) => `${dirname(path)}/`))
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
    const map = readme.slice(readme.indexOf('## Code map'))
    const named = [...map.matchAll(/^((?:src|jobs|bench)\/(?:[\w-]+\/)*) /gm)].map(([, room = '']) => room)

    expect([...rooms].filter((room) => !['src/', 'jobs/'].includes(room) && !named.includes(room))).toEqual([])
    expect(named.filter((room) => !rooms.has(room))).toEqual([])
  })

  test('every file is named for a thing or a verb, in kebab-case', () => {
    const vague = /^(utils?|helpers?|common|types?|index|manager|misc|shared)\./

    expect(program.map(({ path }) => path).filter((path) => vague.test(basename(path)))).toEqual([])
    expect(
      program.map(({ path }) => basename(path)).filter((name) => !/^[a-z0-9-]+(\.[a-z]+)*\.ts$/.test(name)),
    ).toEqual([])
  })

  test('exports have names of their own', () => {
    expect(matching(product, /^export default\b/m)).toEqual([])
  })

  test('no type is asserted with any', () => {
    expect(matching(product, /(:\s*any\b|<any>|\bas any\b|@ts-(ignore|nocheck))/)).toEqual([])
  })
})

describe('plain English', () => {
  const prose = readProse()
  const found = (pattern: RegExp) =>
    prose.flatMap(({ path, texts }) => texts.filter((text) => pattern.test(text)).map((text) => `${path}: ${text}`))

  test('the texts of every folder are read, names of tests among them', () => {
    expect(prose.length).toBeGreaterThan(300)
    expect(found(/the texts of every folder are read/)).toHaveLength(1)
    expect(found(/^## Exit codes$/m)).toHaveLength(1)
  })

  test('a text speaks of customers, rows and users, not of people without a name', () => {
    const nameless = ['no', 'every', 'some', 'any'].map((start) => `${start}body`)
    expect(found(new RegExp(String.raw`\b(${[...nameless, 'who(m)?ever'].join('|')})\b`, 'i'))).toEqual([])
  })

  test('no sentence opens with a genitive', () => {
    const opening = ['O', 'f'].join('')
    expect(found(new RegExp(String.raw`(^|[.:;!?*/'"\u0060(]\s*)\b${opening}\s`, 'm'))).toEqual([])
  })
})

/** Imports, lazy ones too, whose target is not allowed. */
function offenders(files: readonly SourceFile[], forbidden: (target: string) => boolean): string[] {
  return files.flatMap(({ path, imports, lazyImports }) =>
    [...imports.map(({ target }) => target), ...lazyImports].filter(forbidden).map((target) => `${path} → ${target}`),
  )
}

/** Files outside `allowed` whose code, comments aside, matches. */
function matching(files: readonly SourceFile[], pattern: RegExp, allowed?: RegExp): string[] {
  return files
    .filter(({ path, code }) => allowed?.test(path) !== true && pattern.test(code))
    .map(({ path, code }) => `${path}: ${pattern.exec(code)?.[0] ?? ''}`)
}
