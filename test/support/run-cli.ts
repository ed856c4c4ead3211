import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { env as ours, execPath, hrtime, kill } from 'node:process'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { inject, onTestFinished } from 'vitest'
import { PLAIN_USER } from '../../bench/postgres-server.ts'
import type { ExitCode } from '../../src/cli/exit-code.ts'
import { runProgram } from '../../src/cli/program.ts'
import { isGone, nameOfProcess } from '../../src/machine/process-name.ts'
import { eventually } from './eventually.ts'
import { aGate, type Gate } from './gate.ts'
import { requireDocumented } from './json-page.ts'
import { rowsOf } from './mirror-file.ts'
import { aSandbox, aWorkplace, organizationsOf } from './workplace.ts'

/** How a process of the program ended, and everything it wrote. */
export type Ended = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }

/** A process of the program that may still be running. It is killed with the test at the latest. */
export type Running = {
  ended: Promise<Ended>
  send(signal: NodeJS.Signals): void
  /** The first line on standard error that matches. Rejects when the program ends without one. */
  lineOnStderr(pattern: RegExp): Promise<string>
}

type CliOptions = {
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

/** The file that `customer-mirror` starts. */
export const LAUNCHER = fileURLToPath(new URL('../../src/cli/customer-mirror.mjs', import.meta.url))

/** A command line with `customer-mirror` in it, run by bash in a folder to its end, with a text on its standard input. */
export function runInShell(command: string, { cwd, input = '' }: { cwd: string; input?: string }) {
  const line = command.replace('customer-mirror', `'${process.execPath}' '${LAUNCHER}'`)
  const { status, stdout, stderr } = spawnSync('/bin/bash', ['--norc', '-c', line], {
    input,
    encoding: 'utf8',
    maxBuffer: 1e9,
    cwd,
    env: { PATH: '/usr/bin:/bin' },
  })
  return { code: status, stdout, stderr }
}

/** Makes the launcher believe that it runs on a Node that is too old, so that it starts the one that npm installed. */
const OLD_NODE = `data:text/javascript,${encodeURIComponent(
  `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })`,
)}`

/** A sync under a launcher, in the middle of its run. The second page is answered when asked for, the third one never. */
export async function aSync() {
  const gate = aGate({ fromPage: 2 })
  const { args, folder, mirror } = await aPlace(gate)
  const launcher = spawn(execPath, ['--import', OLD_NODE, LAUNCHER, ...args], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await gate.reached
  const pid = childOf(launcher.pid ?? 0)
  onTestFinished(() => {
    gate.open()
    launcher.kill('SIGKILL')
    if (isGone(program) === false) kill(pid, 'SIGKILL')
  })
  const program = nameOfProcess(pid)
  await eventually(
    () => rowsOf(mirror, 'SELECT received FROM runs'),
    ([run]) => run?.['received'] === 100,
  )
  return { launcher, pid, program, mirror, answer: () => gate.open(2) }
}

/** A folder with a configuration for a service behind the gate. */
async function aPlace(gate: Gate) {
  const sandbox = await aSandbox({ customers: [300], intercept: gate.intercept })
  const { folder, config, mirror } = aWorkplace(organizationsOf(sandbox, { concurrency: 1 }))
  return { folder, mirror, args: ['sync', '--config', config] }
}

/** How a process ended. */
export async function howItEnded(child: ChildProcess) {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return [child.exitCode, child.signalCode]
}

/** The only process that another one has started. */
function childOf(parent: number): number {
  const found = readdirSync('/proc').find((id) => /^\d+$/.test(id) && parentOf(id) === parent)
  return Number(found)
}

function parentOf(id: string): number {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return 0
  }
}

const RESOLVING = fileURLToPath(new URL('resolve-quickly.mjs', import.meta.url))

const CHILD = fileURLToPath(new URL('child.ts', import.meta.url))

/** The arguments with which Node starts a program of child.ts. */
export function childProgram(name: 'mirror' | 'hide' | 'work' | 'write', ...args: readonly string[]): string[] {
  return ['--import', RESOLVING, CHILD, name, ...args]
}

/** Kills such a program so many lines of its output, and then microseconds, after its start; one that ends before is fine. */
export async function killedAfter(
  program: readonly string[],
  { lines, microseconds }: { lines: number; microseconds: number },
): Promise<unknown[]> {
  const child = spawn(execPath, program, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  let seen = 0
  for await (const _ of createInterface({ input: child.stdout })) {
    seen += 1
    if (seen === lines) break
  }
  const until = hrtime.bigint() + BigInt(Math.round(microseconds * 1000))
  while (hrtime.bigint() < until);
  child.kill('SIGKILL')
  return exited
}

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
