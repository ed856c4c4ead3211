import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The texts that people read in a file: a document, the comments and strings of a program, the comments and names of a test. */
export type Prose = { path: string; texts: readonly string[] }

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The documents and programs of the project, with the texts that people read in them. */
export function readProse(): Prose[] {
  const pages = readdirSync(ROOT + 'docs').filter((name) => name.endsWith('.md'))
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
