import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { exitCodeOf, type ExitCode } from '../../src/cli/exit-code.ts'
import type { Io } from '../../src/cli/io.ts'
import { requireDocumented } from './json-page.ts'

/** The result of a command in this process: its exit code, and its output. */
export type Done = { code: ExitCode; stdout: string; stderr: string }

type Runnable = { name(): string; parseAsync(args: readonly string[], options: { from: 'user' }): Promise<unknown> }

/** Runs one command in this process, for promises that are not about the process. */
export async function runCommand(
  command: (io: Io) => Runnable,
  args: readonly string[],
  signal: AbortSignal = new AbortController().signal,
): Promise<Done> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const written = Promise.all([text(stdout), text(stderr)])
  let code: ExitCode = 0
  const io: Io = { signal, stdout, stderr, exitWith: (given) => (code = given) }
  const runnable = command(io)
  try {
    await runnable.parseAsync(args, { from: 'user' })
  } catch (error) {
    code = exitCodeOf(error)
    stderr.write(error instanceof Error ? `${error.message}\n` : String(error))
  }
  stdout.end()
  stderr.end()
  const [out, err] = await written
  requireDocumented([runnable.name(), ...args], out)
  return { code, stdout: out, stderr: err }
}
