import { exitCodeOf, type ExitCode } from '../../src/cli/exit-code.ts'
import type { Io } from '../../src/cli/io.ts'
import { FakeScreen } from './screen.ts'

type Runnable = { parseAsync(args: readonly string[], options: { from: 'user' }): Promise<unknown> }

/** Runs one command at a terminal, which shows results and messages together; returns the text on it afterwards. */
export async function runOnScreen(
  command: (io: Io) => Runnable,
  args: readonly string[],
  { columns = 80, rows = 24, signal = new AbortController().signal } = {},
): Promise<{ code: ExitCode; text: string; lines: string[]; broken: readonly string[] }> {
  const screen = new FakeScreen({ columns, rows })
  let code: ExitCode = 0
  const io: Io = { signal, stdout: screen, stderr: screen, exitWith: (given) => (code = given) }
  try {
    await command(io).parseAsync(args, { from: 'user' })
  } catch (error) {
    code = exitCodeOf(error)
    screen.write(`${String(error)}\n`)
  }
  return { code, text: screen.text, lines: screen.text.split('\n'), broken: screen.broken }
}
