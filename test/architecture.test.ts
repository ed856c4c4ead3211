import { readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { expect, test } from 'vitest'
import { chainsTo, importersOf, readProgram, readProse, type SourceFile } from './support/program.ts'

const program = readProgram()
const product = program.filter(({ path }) => /^(src|jobs)\//.test(path))
const src = product.filter(({ path }) => path.startsWith('src/'))

/** Folders in which time, chance and the outside world come in as arguments, or not at all. */
const PURE = 'scan model status privacy text time sync/sorting signing store/pages'.split(' ')

/** The two programs: the command line and the worker. */
const PROGRAMS = ['src/cli/main.ts', 'jobs/worker.ts']

test('there is a program to read, and its imports are seen', () => {
  const story = src.find(({ path }) => path === 'src/sync/mirror-organization.ts')

  expect(src.length).toBeGreaterThan(20)
  expect(product.map(({ path }) => path)).toEqual(expect.arrayContaining(PROGRAMS))
  expect(story?.imports).toContainEqual({ target: 'src/sync/read-list.ts', typeOnly: false })
  expect(story?.imports).toContainEqual({ target: 'src/model/run.ts', typeOnly: true })
  expect(importersOf(src, 'better-sqlite3')).toContain('src/store/sqlite/open-database.ts')
})

/** Commands load jobs when they need them. */
const eager = src.map((file) => (file.path.startsWith('src/cli/') ? { ...file, lazyImports: [] } : file))

test.each<[rule: string, files: readonly SourceFile[], forbidden: RegExp]>([
  ['src does not import jobs', eager, /^jobs\//],
  ['src and jobs import neither tests nor benchmarks', product, /^(test|bench)\//],
  [
    'only the command line and tests import the command line',
    program.filter(({ path }) => !/^(src\/cli|test)\//.test(path)),
    /^src\/cli\//,
  ],
  [
    'the model imports only text and time, and what is hidden',
    src.filter(({ path }) => path.startsWith('src/model/')),
    /^src\/(?!(model|text|time|privacy)\/)/,
  ],
  [
    'the mirror is used only through its verbs',
    product.filter(({ path }) => !/^src\/(store|copies|serve)\//.test(path)),
    /^src\/store\/(?!mirror\.ts$)/,
  ],
])('%s', (_rule, files, forbidden) => {
  expect(files).not.toEqual([])
  expect(offenders(files, (target) => forbidden.test(target))).toEqual([])
})

const ROOMS_APART = ['source', 'scan', 'store']
const NEIGHBOURS = [...ROOMS_APART, 'service', 'http', 'copies', 'config', 'sync', 'cli']
test.each(ROOMS_APART)('%s reaches no other such folder, by any chain of imports', (folder) => {
  const files = src.filter(({ path }) => path.startsWith(`src/${folder}/`))
  const neighbours = NEIGHBOURS.filter((name) => name !== folder)
  const isForbidden = (target: string) => neighbours.some((name) => target.startsWith(`src/${name}/`))

  expect(files).not.toEqual([])
  expect(chainsTo(program, files, isForbidden)).toEqual([])
})

// A feature is a folder and its hooks.
test('quick runs are named by a dozen files outside their folder', () => {
  const others = product.filter(({ path }) => !path.startsWith('src/quick/'))
  const naming = others.filter(({ path }) =>
    /\bquick\b/i.test(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')),
  )

  expect(naming.length).toBeLessThanOrEqual(12)
})

/** Each room may import those before it. Commands load jobs when they need them, and a run loads the reading of a quick one. */
const ROOMS = [
  ...['text', 'time', 'errors', 'machine', 'address', 'model', 'privacy', 'http', 'signing', 'config', 'source'],
  ...['scan', 'store', 'sync', 'conformance', 'quick', 'copies', 'status', 'report', 'service', 'serve', 'cli'],
  'library.ts',
]
const HOOKS = /^src\/(sync\/mirror-organization\.ts → src\/quick\/|model\/\w+\.ts → src\/privacy\/)/

test('no room imports one that comes after it, types and what is loaded later included', () => {
  const placeOf = (path: string) => ROOMS.indexOf(path.split('/')[1] ?? '')

  expect(src.filter(({ path }) => placeOf(path) < 0).map(({ path }) => path)).toEqual([])
  const upward = src.flatMap((file) =>
    offenders([file], (target) => target.startsWith('src/') && placeOf(target) > placeOf(file.path)),
  )
  expect(upward.filter((arrow) => !HOOKS.test(arrow))).toEqual([])
})

test.each([
  ['undici', /^src\/source\//],
  ['better-sqlite3', /^src\/(store|copies)\//],
  ['pg', /^(src\/store\/p(ort|ostgres)|jobs\/queue)\//],
  ['@aws-sdk/client-s3', /^src\/copies\/objects\//],
  ['@aws-sdk/lib-storage', /^src\/copies\/objects\//],
  ['hono', /^(src\/(service|serve|http|status|report)|jobs)\//],
  ['@hono/node-server', /^(src\/(service|http)|jobs)\//],
  ['bullmq', /^jobs\//],
  ['ioredis', /^jobs\//],
  ['commander', /^src\/cli\//],
  ['@commander-js/extra-typings', /^src\/cli\//],
  ['pino', /^src\/machine\/log\.ts$/],
])('%s is imported in one place only', (name, where) => {
  expect(importersOf(product, name).filter((path) => !where.test(path))).toEqual([])
})

/** Commands, the library, servers, workers, and the lock of a queue's folder, whose age is in the file system. */
const ENTRIES = /^(src\/(cli\/|service\/|library\.ts$)|jobs\/(worker\.ts$|commands\/|queue\/))/

test.each<[rule: string, pattern: RegExp, where?: RegExp]>([
  ['every server listens in one way', /\bcreateServer\b/, /^src\/http\//],
  ['no folder is made in a way that never ends in /proc', /\bmkdir(Sync)?\(.*recursive/],
  ['only the configuration reads the environment', /\bprocess\s*\.\s*env\b/, /^src\/config\//],
  [
    'only the programs end the process',
    /\bprocess\s*\.\s*(exit\b|exitCode\s*=[^=]|abort\b|reallyExit\b)/,
    new RegExp(`^(${PROGRAMS.join('|')})$`),
  ],
  ['commands and worker get signals', /\bprocess\s*\.\s*(on|once|addListener)\s*\(/, /^(src\/cli\/|jobs\/worker\.ts$)/],
  ['only the worker and commands make a log', /\bcreateLog\(/, /^(src\/(machine\/log\.ts$|cli\/)|jobs\/worker\.ts$)/],
  ['chance comes in as an argument', /\bMath\.random\(\)/, /^(src\/cli|jobs)\//],
  ['time comes in as an argument', /\bDate\.now\b|\bnew Date\(\)/, ENTRIES],
  ['only the machine reads the monotonic clock', /\bperformance\b|\bhrtime\b/, /^src\/machine\//],
  ['only entry points take the monotonic clock', /import \{[^}]*\bmonotonicMs\b/, ENTRIES],
  // What only strips types leaves them as they are, and a command that loads such a file ends before it begins.
  [
    'the program is written in the words that the oldest Node it runs on knows (22.19)',
    /\busing [\w$]+ =|\b(RegExp\.escape|Error\.isError|Promise\.try|Math\.sumPrecise|Uint8Array\.from(Hex|Base64))\b/,
  ],
  // Node then opens standard input, and to read it fails while nothing has come: a process of ours takes its plan from there.
  ['the process is taken from where it always is, not imported', /from 'node:process'/],
  ['no type is asserted with any', /(:\s*any\b|<any>|\bas any\b|@ts-(ignore|nocheck))/],
])('%s', (_rule, pattern, where) => {
  expect(matching(product, pattern, where)).toEqual([])
})

test('pure folders use no clock, no chance, no timer and no input or output', () => {
  const inFolder = (folder: string) => product.filter(({ path }) => path.startsWith(`src/${folder}/`))
  const impure =
    /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bperformance\b|\brandom(UUID|Bytes|Int)\b|\bset(Timeout|Interval|Immediate)\b|\bprocess\b|\bconsole\b|\bfetch\(/

  expect(PURE.filter((folder) => inFolder(folder).length === 0)).toEqual([])
  const pure = PURE.flatMap(inFolder)
  expect(matching(pure, impure)).toEqual([])
  expect(offenders(pure, (target) => target.startsWith('node:') && target !== 'node:crypto')).toEqual([])
})

test('the code map of CONTRIBUTING has a line for every room, and for no other', () => {
  const built = program.filter(({ path }) => !path.startsWith('test/') && dirname(path) !== 'src')
  const rooms = new Set(built.map(({ path }) => /^(src\/)?[^/]+\//.exec(path)?.[0] ?? ''))
  const folders = new Set(built.map(({ path }) => `${dirname(path)}/`))
  const page = readFileSync(new URL('../CONTRIBUTING.md', import.meta.url), 'utf8')
  const map = page.slice(page.indexOf('## Code map'))
  const named = [...map.matchAll(/^((?:src|jobs|bench)\/(?:[\w-]+\/)*) /gm)].map(([, room = '']) => room)

  expect([...rooms].filter((room) => !named.includes(room))).toEqual([])
  expect(named.filter((room) => !rooms.has(room) && !folders.has(room))).toEqual([])
})

test('every file is named for a thing or a verb, in kebab-case; one of the product has at most 400 lines', () => {
  const vague = /^(utils?|helpers?|common|types?|index|manager|misc|shared)\./
  const names = program.map(({ path }) => basename(path))

  expect(names.filter((name) => vague.test(name) || !/^[a-z0-9-]+(\.[a-z]+)*\.ts$/.test(name))).toEqual([])
  expect(product.filter(({ lines }) => lines > 400).map(({ path, lines }) => `${path}: ${lines} lines`)).toEqual([])
})

const prose = readProse()
const found = (pattern: RegExp) =>
  prose.flatMap(({ path, texts }) => texts.filter((text) => pattern.test(text)).map((text) => `${path}: ${text}`))

test('the texts of every folder are read, names of tests among them', () => {
  expect(prose.length).toBeGreaterThan(300)
  expect(found(/the texts of every folder are read/)).toHaveLength(1)
  expect(found(/^## Exit codes$/m)).toHaveLength(1)
})

test('a text speaks of customers, rows and users, not of people without a name, and no sentence opens with a genitive', () => {
  const nameless = ['no', 'every', 'some', 'any'].map((start) => `${start}body`)
  const opening = ['O', 'f'].join('')
  expect(found(new RegExp(String.raw`\b(${[...nameless, 'who(m)?ever'].join('|')})\b`, 'i'))).toEqual([])
  expect(found(new RegExp(String.raw`(^|[.:;!?*/'"\u0060(]\s*)\b${opening}\s`, 'm'))).toEqual([])
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
