import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A file of the program, as checked by its rules. Paths are relative to the project, with slashes. */
export type SourceFile = {
  path: string
  lines: number
  code: string
  /** Files by path, packages by name; `typeOnly` ones are gone when the program runs. */
  imports: { target: string; typeOnly: boolean }[]
  lazyImports: string[]
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FOLDERS = ['src', 'jobs', 'test', 'bench']

export function readProgram(): SourceFile[] {
  return FOLDERS.flatMap((folder) => filesIn(folder, /\.ts$/)).map(readSource)
}

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
  return files.flatMap(({ path }) => {
    const seen = new Set([path])
    const trails = [[path]]
    for (const trail of trails) {
      const last = trail.at(-1) ?? ''
      if (isForbidden(last)) return trail.join(' → ')
      for (const { target } of byPath.get(last)?.imports ?? []) {
        if (seen.has(target)) continue
        seen.add(target)
        trails.push([...trail, target])
      }
    }
    return []
  })
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
  return text.replaceAll(COMMENT_OR_STRING, (part) => (part.startsWith('/') ? '' : part))
}

/** The documents and programs of the project, with the texts that people read in them: the comments, strings and names of tests of a program. */
export function readProse(): { path: string; texts: readonly string[] }[] {
  const documents = ['', 'docs'].flatMap((folder) => filesIn(folder, /\.md$/, folder !== ''))
  const programs = FOLDERS.flatMap((folder) => filesIn(folder, /\.(ts|mjs)$/))
  return [...documents, ...programs].map((path) => ({ path, texts: textsOf(path, readFileSync(ROOT + path, 'utf8')) }))
}

function textsOf(path: string, text: string): string[] {
  if (!path.endsWith('.ts')) return [text]
  const isRead = ({ 0: part, index }: RegExpExecArray) =>
    part.startsWith('/') || !path.startsWith('test/') || IS_TEST_NAME.test(text.slice(Math.max(0, index - 40), index))
  return [...text.matchAll(COMMENT_OR_STRING)].filter(isRead).map(([part]) => part)
}

/** What stands before the name of a test: `test`, `describe`, or a table of either. */
const IS_TEST_NAME = /(\b(test|describe)|\)|\])\s*\(\s*$/

const COMMENT_OR_STRING = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`/g

function filesIn(folder: string, name: RegExp, recursive = true): string[] {
  return readdirSync(ROOT + folder, { recursive, encoding: 'utf8' })
    .filter((each) => name.test(each))
    .map((each) => posix.join(folder, each))
}
