import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { inject, onTestFinished } from 'vitest'
import { PLAIN_USER } from './plain-user-setup.ts'
import { runHere } from './run-here.ts'
import { LAUNCHER } from './launcher.ts'

/** How a process of the program ended, and everything it wrote. */
export type Ended = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }

/** A process of the program that may still be running. It is killed with the test at the latest. */
export type Running = {
  ended: Promise<Ended>
  send(signal: NodeJS.Signals): void
  /** The first line on standard error that matches. Rejects when the program ends without one. */
  lineOnStderr(pattern: RegExp): Promise<string>
}

export type CliOptions = {
  /** The folder it is started in. */
  cwd: string
  /** Its whole environment, besides a PATH with only Node and the system. */
  env?: Readonly<Record<string, string>>
}

export type ProcessOptions = CliOptions & {
  /** A stream whose reader closed it before the first write, as with `| head`. */
  unread?: 'stdout' | 'stderr'
  /** A different user than the one that runs the tests. */
  uid?: number
  /** Called once with the first of its results, before any more of them is taken. */
  onFirstOutput?: () => void
  /** Another program than the one of this checkout, run as it is. */
  program?: string
}

const PLAIN_ENVIRONMENT = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` }
/** Starts the program as a shell would, without a terminal. */
export function startCli(
  args: readonly string[],
  { cwd, env = {}, unread, uid, program, onFirstOutput }: ProcessOptions,
): Running {
  const [command, before] = program === undefined ? [process.execPath, [LAUNCHER]] : [program, []]
  const child = spawn(command, [...before, ...args], {
    cwd,
    env: {
      ...PLAIN_ENVIRONMENT,
      ...(uid !== undefined && { NODE_COMPILE_CACHE: inject('compiledForPlainUser') }),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid !== undefined && { uid, gid: uid }),
  })
  if (unread !== undefined) child[unread].destroy()
  if (onFirstOutput !== undefined) child.stdout.once('data', onFirstOutput)
  const lines = linesOf(child.stderr)
  const closed = once(child, 'close')
  const whole = (stream: 'stdout' | 'stderr') => (unread === stream ? Promise.resolve('') : text(child[stream]))
  const ended = Promise.all([whole('stdout'), whole('stderr'), closed]).then(([stdout, stderr]): Ended => ({
    code: child.exitCode,
    signal: child.signalCode,
    stdout,
    stderr,
  }))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return { ended, send: (signal) => void child.kill(signal), lineOnStderr: lines.find }
}

/**
 * Runs a command line to its end in this process, which takes a tenth of the time: for promises that are not about the
 * process. `startCli` starts one.
 */
export async function runCli(
  args: readonly string[],
  { env = {}, ...options }: CliOptions & Pick<Parameters<typeof runHere>[1], 'onStderr' | 'signal'>,
): Promise<Ended> {
  return runHere(args, { ...options, env: { ...PLAIN_ENVIRONMENT, ...env } })
}

/**
 * Options to run the program without special permissions: none, or, if the tests run as root, a user who owns nothing. Undefined
 * if that user cannot reach the program.
 */
export function asPlainUser(): Pick<ProcessOptions, 'uid'> | undefined {
  if (process.getuid?.() !== 0) return {}
  return [LAUNCHER, process.execPath].every(isReachableByAll) ? { uid: PLAIN_USER } : undefined
}

function isReachableByAll(path: string): boolean {
  const folder = dirname(path)
  return folder === path || ((statSync(folder).mode & 0o001) !== 0 && isReachableByAll(folder))
}

/** The lines a stream has given so far, and those to come. */
function linesOf(stream: NodeJS.ReadableStream): { find: Running['lineOnStderr'] } {
  const seen: string[] = []
  const reader = createInterface({ input: stream })
  reader.on('line', (line) => seen.push(line))
  const ended = new Promise<void>((resolve) => reader.once('close', resolve))
  return {
    async find(pattern) {
      for (;;) {
        const found = seen.find((line) => pattern.test(line))
        if (found !== undefined) return found
        const next = new Promise<'more'>((resolve) => reader.once('line', () => resolve('more')))
        if ((await Promise.race([next, ended])) === undefined) {
          throw new Error(`It ended without a line like ${pattern}. It said:\n${seen.join('\n')}`)
        }
      }
    },
  }
}
