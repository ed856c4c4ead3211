import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'

/** A shell on a terminal of its own, as a person has it. */
export type ShellOnTerminal = {
  /** Types, and waits until the terminal shows what is expected, after all that was expected before. */
  type(text: string, expected: RegExp): Promise<string>
}

/** Starts a shell on a terminal that `script` makes; it is ended with the test. */
export async function aShellOnTerminal(
  command: string,
  { cwd, env, prompt }: { cwd: string; env: Readonly<Record<string, string>>; prompt: RegExp },
): Promise<ShellOnTerminal> {
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd,
    env: { TERM: 'dumb', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text))
  const ended = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })

  async function see(expected: RegExp): Promise<string> {
    for (;;) {
      const found = expected.exec(shown)
      if (found !== null) {
        shown = shown.slice(found.index + found[0].length)
        return found[0]
      }
      const next = await Promise.race([once(child.stdout, 'data'), ended.then(() => 'end')])
      if (next === 'end') throw new Error(`The shell ended without showing ${expected}. It showed:\n${shown}`)
    }
  }

  await see(prompt)
  return {
    async type(text, expected) {
      child.stdin.write(text)
      return see(expected)
    },
  }
}
