import { runHere } from './run-here.ts'

type Environment = Readonly<Record<string, string>>

/**
 * The arguments of a line that does nothing but run `customer-mirror`, as a shell gives them; undefined for a line that only a shell
 * can run, and for a sandbox, which has to go on meanwhile.
 */
export function argumentsIn(line: string, env: Environment): string[] | undefined {
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

/** Runs these in this process, until one fails. A worker is stopped as soon as it works. */
export async function runInTurn(lines: readonly string[][], { cwd, env }: { cwd: string; env: Environment }) {
  const all = { code: 0, stdout: '', stderr: '' }
  for (const line of lines) {
    const stopping = new AbortController()
    const onStderr = (text: string) => text.includes('"worker started"') && stopping.abort()
    const port = line[0] === 'worker' && !line.includes('--once') ? ['--port', '0'] : []
    const { code, stdout, stderr } = await runHere([...line, ...port], { cwd, env, onStderr, signal: stopping.signal })
    all.stdout += stdout
    all.stderr += stderr
    all.code = code
    if (code !== 0) break
  }
  return all
}
