import { env as ours } from 'node:process'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { ExitCode } from '../../src/cli/exit-code.ts'
import { runProgram } from '../../src/cli/program.ts'
import { requireDocumented } from './json-page.ts'

/** Where a command line is run: the folder, and all of the environment. */
type Surroundings = {
  cwd: string
  env: Readonly<Record<string, string>>
  /** Called with what it writes to standard error, before it goes on. */
  onStderr?: ((text: string) => void) | undefined
  /** Stops it, as Ctrl-C does. */
  signal?: AbortSignal | undefined
}

/** What a command line did, as a process would have ended. */
type Done = { code: ExitCode; signal: null; stdout: string; stderr: string }

/** Runs a command line in this process, which has its folder and its environment for as long. One at a time. */
export async function runHere(args: readonly string[], surroundings: Surroundings): Promise<Done> {
  const [stdout, stderr] = [new PassThrough(), heard(surroundings.onStderr)]
  const written = Promise.all([text(stdout), text(stderr)])
  let code: ExitCode = 0
  const leave = enter(surroundings)
  try {
    const { signal = new AbortController().signal } = surroundings
    await runProgram(args, { signal, stdout, stderr, exitWith: (given) => (code = given) })
  } finally {
    leave()
  }
  stdout.end()
  stderr.end()
  const [out, err] = await written
  requireDocumented(args, out)
  return { code, signal: null, stdout: out, stderr: err }
}

/** A stream that calls `listener` with each text while it is written. */
function heard(listener: Surroundings['onStderr']): PassThrough {
  return new PassThrough({
    transform(chunk, _encoding, done) {
      listener?.(String(chunk))
      done(null, chunk)
    },
  })
}

let isTaken = false

/** Gives this process another folder and environment; the function that is returned gives it its own again. */
function enter({ cwd, env }: Pick<Surroundings, 'cwd' | 'env'>): () => void {
  if (isTaken) throw new Error('Two command lines at once need processes of their own: use startCli.')
  isTaken = true
  const before = { cwd: process.cwd(), env: { ...ours }, umask: process.umask(0o077) }
  process.chdir(cwd)
  replaceEnvironment(env)
  return () => {
    process.chdir(before.cwd)
    process.umask(before.umask)
    replaceEnvironment(before.env)
    isTaken = false
  }
}

function replaceEnvironment(env: Readonly<Record<string, string | undefined>>): void {
  for (const name of Object.keys(ours)) delete ours[name]
  Object.assign(ours, env)
}
