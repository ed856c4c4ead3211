import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A file of the program, as checked by its rules. Paths are relative to the project, with slashes. */
export type SourceFile = {
  path: string
  lines: number
  /** The text without its comments. */
  code: string
  /** Files by path, packages by name; `typeOnly` ones are gone when the program runs. */
  imports: { target: string; typeOnly: boolean }[]
  /** Imports that run only when needed. */
  lazyImports: string[]
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FOLDERS = ['src', 'jobs', 'test', 'bench']

/** Every TypeScript file of the project. */
export function readProgram(): SourceFile[] {
  return FOLDERS.filter((folder) => existsSync(ROOT + folder)).flatMap((folder) =>
    readdirSync(ROOT + folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readSource(posix.join(folder, name.replaceAll('\\', '/')))),
  )
}

/** The files that import a package, or a part of it, in any way. */
export function importersOf(files: readonly SourceFile[], name: string): string[] {
  const isIt = (target: string) => target === name || target.startsWith(`${name}/`)
  return files
    .filter(({ imports, lazyImports }) => imports.some(({ target }) => isIt(target)) || lazyImports.some(isIt))
    .map(({ path }) => path)
}

/** How each of `files` reaches a forbidden one over imports, type-only ones too, as `a → b → c`; the shortest way of each. */
export function chainsTo(
  program: readonly SourceFile[],
  files: readonly SourceFile[],
  isForbidden: (path: string) => boolean,
): string[] {
  const byPath = new Map(program.map((file) => [file.path, file]))
  return files.flatMap(({ path }) => shortestChain(path, byPath, isForbidden) ?? [])
}

function shortestChain(from: string, byPath: ReadonlyMap<string, SourceFile>, isEnd: (path: string) => boolean) {
  const seen = new Set([from])
  const trails = [[from]]
  for (const trail of trails) {
    const last = trail.at(-1) ?? ''
    if (isEnd(last)) return trail.join(' → ')
    for (const { target } of byPath.get(last)?.imports ?? []) {
      if (seen.has(target)) continue
      seen.add(target)
      trails.push([...trail, target])
    }
  }
  return undefined
}

/** Files that import each other, if only types, as `a → b → a`; undefined when there are none. */
export function importCycle(files: readonly SourceFile[]): string | undefined {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const finished = new Set<string>()

  const visit = (path: string, trail: readonly string[]): string | undefined => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path].join(' → ')
    if (finished.has(path)) return undefined
    for (const { target } of byPath.get(path)?.imports ?? []) {
      const cycle = visit(target, [...trail, path])
      if (cycle !== undefined) return cycle
    }
    finished.add(path)
    return undefined
  }

  for (const { path } of files) {
    const cycle = visit(path, [])
    if (cycle !== undefined) return cycle
  }
  return undefined
}

function readSource(path: string): SourceFile {
  const text = readFileSync(ROOT + path, 'utf8')
  const code = withoutComments(text)
  return {
    path,
    lines: text.trimEnd().split('\n').length,
    code,
    imports: [...code.matchAll(STATIC_IMPORT)].map(([, clause = '', from = '']) => ({
      target: targetOf(from, path),
      // `import { type A }` is not type-only: after type stripping, it still loads the file.
      typeOnly: /^\s*type\b/.test(clause),
    })),
    lazyImports: [...code.matchAll(LAZY_IMPORT)].map(([, from = '']) => targetOf(from, path)),
  }
}

const STATIC_IMPORT = /^(?:import|export)\b([^'"`;()=]*?)(?:\bfrom\s*)?['"]([^'"\n]+)['"]/gm
const LAZY_IMPORT = /\bimport\(\s*['"]([^'"\n]+)['"]/g

function targetOf(from: string, path: string): string {
  return from.startsWith('.') ? posix.join(posix.dirname(path), from) : from
}

/** Removes comments and keeps strings: a `//` within quotes is not a comment. A regular expression with a quote ends with its line. */
function withoutComments(text: string): string {
  return text.replaceAll(
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`/g,
    (part) => (part.startsWith('/') ? '' : part),
  )
}

/** The texts that people read in a file: a document, the comments and strings of a program, the comments and names of a test. */
type Prose = { path: string; texts: readonly string[] }

/** The documents and programs of the project, with the texts that people read in them. */
export function readProse(): Prose[] {
  const pages = readdirSync(ROOT + 'docs', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'))
  const documents = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...pages.map((name) => `docs/${name}`)]
  const programs = ['src', 'jobs', 'bench', 'test'].flatMap((folder) =>
    readdirSync(ROOT + folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|mjs)$/.test(name))
      .map((name) => `${folder}/${name}`),
  )
  return [...documents, ...programs].map((path) => ({ path, texts: textsOf(path, readFileSync(ROOT + path, 'utf8')) }))
}

function textsOf(path: string, text: string): string[] {
  if (!path.endsWith('.ts')) return [text]
  return [...text.matchAll(COMMENT_OR_STRING)].flatMap((match) => {
    const isRead = match[0].startsWith('/') || !path.startsWith('test/') || isTestName(text.slice(0, match.index))
    return isRead ? [match[0]] : []
  })
}

const COMMENT_OR_STRING = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`/g

/** Whether a string after this text is the name of a test: the first argument of `test`, `describe`, or a table of either. */
function isTestName(before: string): boolean {
  return /(\b(test|describe)|\)|\])\s*\(\s*$/.test(before.slice(-40))
}
