import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { runHere } from './run-here.ts'

type Environment = Readonly<Record<string, string>>

/**
 * The arguments of a line that does nothing but run `customer-mirror`, as a shell gives them; undefined for a line that only a shell
 * can run, and for a sandbox, which has to go on meanwhile.
 */
function argumentsIn(line: string, env: Environment): string[] | undefined {
  const words: string[] = []
  const word = /\s*(?:"([^"\\`]*)"|'([^']*)'|([\w@%+=:,./-]+))(?=\s|$)/y
  while (!/^\s*(#.*)?$/s.test(line.slice(word.lastIndex))) {
    const [, double, single, bare] = word.exec(line) ?? []
    const text = double?.replaceAll(/\$([A-Z_]+)/g, (_, name: string) => env[name] ?? '') ?? single ?? bare
    if (text === undefined || (double !== undefined && text.includes('$('))) return undefined
    words.push(text)
  }
  const [program, ...given] = words
  return program === 'customer-mirror' && given[0] !== 'sandbox' ? given : undefined
}

/** A line that runs another one in a folder, and appends what that prints to a file, as in a crontab. */
function inFolder(line: string): { folder: string; rest: string; file: string } | undefined {
  const [, folder, rest, file] = /^cd ([\w./-]+) && ([^&|;<>]+?) >> ([\w.-]+)$/.exec(line) ?? []
  return folder === undefined || rest === undefined || file === undefined ? undefined : { folder, rest, file }
}

/** Whether a line leaves something in its shell that a later one may use: a variable, another folder. */
export function needOneShell(lines: readonly string[]): boolean {
  return lines.slice(0, -1).some((line) => /^\w+=|(^|[;&] *)(cd|export|set|umask) /.test(line))
}

type Ended = { code: number | null; stdout: string; stderr: string }
type Place = { cwd: string; env: Environment; inShell: (line: string) => Promise<Ended> }

/** Runs these, until one fails: in this process those that need no shell. A worker is stopped as soon as it works. */
export async function runInTurn(lines: readonly string[], { cwd, env, inShell }: Place): Promise<Ended> {
  const all: Ended = { code: 0, stdout: '', stderr: '' }
  for (const line of lines) {
    const { code, stdout, stderr } = (await runWithoutShell(line, { cwd, env })) ?? (await inShell(line))
    all.stdout += stdout
    all.stderr += stderr
    all.code = code
    if (code !== 0) break
  }
  return all
}

/** Undefined for a line that needs a shell. */
async function runWithoutShell(line: string, { cwd, env }: Omit<Place, 'inShell'>): Promise<Ended | undefined> {
  const elsewhere = inFolder(line)
  const words = argumentsIn(elsewhere?.rest ?? line, env)
  if (words === undefined) return undefined
  const ended = await runWords(words, { cwd: elsewhere?.folder ?? cwd, env })
  if (elsewhere === undefined) return ended
  appendFileSync(join(elsewhere.folder, elsewhere.file), ended.stdout)
  return { ...ended, stdout: '' }
}

function runWords(words: readonly string[], { cwd, env }: Omit<Place, 'inShell'>): Promise<Ended> {
  const stopping = new AbortController()
  const onStderr = (text: string) => text.includes('"worker started"') && stopping.abort()
  const port = words[0] === 'worker' ? ['--port', '0'] : []
  return runHere([...words, ...port], { cwd, env, onStderr, signal: stopping.signal })
}
