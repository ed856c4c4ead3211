import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** A page that users read: the README, or one in docs. */
export type Page = { name: string; file: URL; text: string }

/** A fenced block of a page, without the indentation of its list. */
export type Block = { page: string; heading: string; language: string; text: string }

const ROOT = new URL('../../', import.meta.url)
const IN_DOCS = readdirSync(new URL('docs/', ROOT), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md') && !name.startsWith('ops/'))
  .toSorted()

/** The README and the pages that it links. */
export const PAGES: readonly Page[] = ['README.md', ...IN_DOCS.map((name) => `docs/${name}`)].map(pageNamed)

/** Those pages, and what is read by the way: for contributors, after an upgrade, and beside the files for operators. */
export const LINKED_PAGES: readonly Page[] = [
  ...PAGES,
  ...['CONTRIBUTING.md', 'CHANGELOG.md', 'docs/ops/README.md'].map(pageNamed),
]

function pageNamed(name: string): Page {
  const file = new URL(name, ROOT)
  return { name, file, text: readFileSync(file, 'utf8') }
}

/** The fenced blocks of a page, in its order; with languages, those in one of them. */
export function blocksIn({ name, text }: Page, ...languages: readonly string[]): Block[] {
  return [...text.matchAll(/^( *)```([a-z]*)\n(.*?)^ *```$/gms)]
    .map(({ index, 1: indent = '', 2: language = '', 3: content = '' }) => ({
      page: name,
      heading: /.*^#+ (.*?)$/ms.exec(text.slice(0, index))?.[1] ?? '',
      language,
      text: content.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }))
    .filter(({ language }) => languages.length === 0 || languages.includes(language))
}

function exampleOf(name: string): string {
  const blocks = blocksIn(pageNamed(name), 'js')
  return blocks.map(({ text }) => text).join()
}

export const LIBRARY_EXAMPLE = exampleOf('docs/read/library.md')

export const CLIENT_EXAMPLE = exampleOf('docs/read/serve.md')

const UNRUN = /# (?:.*[;:,] )?not run by our tests: \S+/

/** The shell commands of a block: those of its lines, of a crontab's entries, of a unit's ExecStart. */
export function commandsIn({ language, text }: Block): string[] {
  if (language === 'crontab') return [...text.matchAll(/^(?:[\d*/,-]+ +){5}(.*)$/gm)].map(([, command = '']) => command)
  if (language === 'ini') return [...text.matchAll(/^ExecStart=(.*)$/gm)].map(([, command = '']) => command)
  return language === 'sh' ? shellCommands(text) : []
}

export function isMarkedUnrun(command: string): boolean {
  return UNRUN.test(command)
}

function shellCommands(text: string): string[] {
  const known = COMMANDS_OF.get(text)
  if (known !== undefined) return known
  const commands: string[] = []
  let open = ''
  for (const line of text.trimEnd().split('\n')) {
    open += open === '' ? line : `\n${line}`
    if (!isWhole(open)) continue
    if (!/^\s*(#|$)/.test(open)) commands.push(open)
    open = ''
  }
  if (open !== '') throw new Error(`No shell can read this: ${open}`)
  COMMANDS_OF.set(text, commands)
  return commands
}

const COMMANDS_OF = new Map<string, string[]>()

/** Whether a shell waits for no further line. It is asked only where a line could leave something open. */
function isWhole(text: string): boolean {
  if (!/["'`(){}<\\]|\b(if|for|while|until|case)\b/.test(text)) return true
  return !text.endsWith('\\') && spawnSync('/bin/sh', ['-n', '-c', text]).status === 0
}

/** Programs that are run here, each in a temporary folder. Others could change the machine that runs the tests. */
export const RUN_HERE =
  /^((\/usr\/local\/bin\/)?customer-mirror|npm start --|sqlite3|sha256sum|\(umask 077; sqlite3|cd \/srv\/customer-mirror && customer-mirror) |^(mkdir trial && cd trial|backup=\/backup\/.*)$|^(\(umask 077; openssl rand|phone='|hash=\$\(printf) ?/
