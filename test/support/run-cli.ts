import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { env as ours } from 'node:process'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { inject, onTestFinished, expect } from 'vitest'
import { PLAIN_USER } from '../../bench/postgres-server.ts'
import { runProgram } from '../../src/cli/program.ts'
import { PassThrough, Writable } from 'node:stream'
import type { ExitCode, Io } from '../../src/cli/command.ts'
import { factsOf } from '../../src/errors/errors.ts'
import { requireDocumented } from './json-page.ts'

export type Ended = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }

/** A process of the program that may still be running. It is killed with the test at the latest. */
export type Running = {
  ended: Promise<Ended>
  send(signal: NodeJS.Signals): void
  /** The first line on standard error that matches. Rejects when the program ends without one. */
  lineOnStderr(pattern: RegExp): Promise<string>
}

type CliOptions = {
  cwd: string
  /** Its whole environment, besides a PATH with only Node and the system. */
  env?: Readonly<Record<string, string>>
}

export type ProcessOptions = CliOptions & {
  /** A stream whose reader closed it before the first write, as with `| head`. */
  unread?: 'stdout' | 'stderr'
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
  const compiled = uid === undefined ? {} : { NODE_COMPILE_CACHE: inject('compiledForPlainUser') }
  const child = spawn(command, [...before, ...args], {
    cwd,
    env: { ...PLAIN_ENVIRONMENT, ...compiled, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid !== undefined && { uid, gid: uid }),
  })
  if (unread !== undefined) child[unread].destroy()
  if (onFirstOutput !== undefined) child.stdout.once('data', onFirstOutput)
  const lines = linesOf(child.stderr)
  const closed = once(child, 'close')
  const whole = (stream: 'stdout' | 'stderr') => (unread === stream ? Promise.resolve('') : text(child[stream]))
  const ended = Promise.all([whole('stdout'), whole('stderr'), closed]).then(([stdout, stderr]): Ended => {
    return { code: child.exitCode, signal: child.signalCode, stdout, stderr }
  })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return {
    ended,
    send: (signal) => void child.kill(signal),
    lineOnStderr: (pattern) => lines.find((line) => (pattern.test(line) ? line : undefined)),
  }
}

/** Runs the program without special permissions: for root, as a user who owns nothing. Undefined if that user cannot reach the program. */
export function asPlainUser(): Pick<ProcessOptions, 'uid'> | undefined {
  if (process.getuid?.() !== 0) return {}
  return [LAUNCHER, process.execPath].every(isReachableByAll) ? { uid: PLAIN_USER } : undefined
}

function isReachableByAll(path: string): boolean {
  const folder = dirname(path)
  return folder === path || ((statSync(folder).mode & 0o001) !== 0 && isReachableByAll(folder))
}

/** The lines that a stream has given so far; `find` waits for the first with an answer, and rejects when the stream ends without one. */
export function linesOf(stream: NodeJS.ReadableStream) {
  const lines: string[] = []
  const reader = createInterface({ input: stream }).on('line', (line) => lines.push(line))
  const closed = once(reader, 'close')
  async function find<Found>(answer: (line: string) => Found | undefined): Promise<Found> {
    for (let seen = 0; ;) {
      for (; seen < lines.length; seen += 1) {
        const found = answer(lines[seen] ?? '')
        if (found !== undefined) return found
      }
      const isOver = await Promise.race([once(reader, 'line').then(() => false), closed.then(() => true)])
      if (isOver && seen >= lines.length) throw new Error(`It ended without that line. It said:\n${lines.join('\n')}`)
    }
  }
  return { lines, find }
}

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

const RESOLVING = fileURLToPath(new URL('resolve-quickly.mjs', import.meta.url))

const CHILD = fileURLToPath(new URL('child.ts', import.meta.url))

export function childProgram(name: 'work' | 'write' | 'load', ...args: readonly string[]): string[] {
  return ['--import', RESOLVING, CHILD, name, ...args]
}

/** Runs a command line to its end in this process, in a tenth of the time; one at a time. `signal` stops it, as Ctrl-C does. */
export async function runCli(
  args: readonly string[],
  { cwd, env = {}, ...capturing }: CliOptions & Parameters<typeof captured>[1],
): Promise<Done> {
  const leave = enter({ cwd, env: { ...PLAIN_ENVIRONMENT, ...env } })
  const run: Parameters<typeof captured>[0] = (io) => runProgram(args, io).then(() => args)
  return captured(run, capturing).finally(leave)
}

let isTaken = false

/** Gives this process another folder and environment; the function that is returned gives it its own again. */
function enter({ cwd, env }: { cwd: string; env: Readonly<Record<string, string>> }): () => void {
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

/** Root may read everything, so during `work` the process runs as another user. */
export async function withoutPrivileges<Result>(work: () => Promise<Result> | Result): Promise<Result> {
  const isRoot = process.geteuid?.() === 0
  const before = process.cwd()
  // The folder of the tests may be closed to that user, who goes back to where a command was started.
  if (isRoot) process.chdir('/')
  if (isRoot) process.seteuid?.(65_534)
  try {
    return await work()
  } finally {
    if (isRoot) process.seteuid?.(0)
    process.chdir(before)
  }
}

export type Done = { code: ExitCode; stdout: string; stderr: string }

/** How a command ends that gives no result, as a pattern: with this code, and with these words. */
export function failing(code: ExitCode, said: string | RegExp) {
  return {
    code,
    stdout: '',
    stderr: typeof said === 'string' ? expect.stringContaining(said) : expect.stringMatching(said),
  }
}

type Runnable = { name(): string; parseAsync(args: readonly string[], options: { from: 'user' }): Promise<unknown> }
type Command = (io: Io) => Runnable

/** Runs one command in this process, for promises that are not about the process. */
export function runCommand(command: Command, args: readonly string[], capturing: Capturing = {}): Promise<Done> {
  return captured((io) => runWith(command, args, io), capturing)
}

type Capturing = { signal?: AbortSignal | undefined; onStderr?: ((text: string) => void) | undefined }

/** What `run` writes and how it ends, which returns its command line: a document of JSON must be as the documentation says of that. */
export async function captured(
  run: (io: Io) => Promise<readonly string[]>,
  { signal = new AbortController().signal, onStderr }: Capturing,
): Promise<Done> {
  const stdout = new PassThrough()
  const stderr = new PassThrough({
    transform(chunk, _encoding, done) {
      onStderr?.(String(chunk))
      done(null, chunk)
    },
  })
  const written = Promise.all([text(stdout), text(stderr)])
  let code: ExitCode = 0
  const args = await run({ signal, stdout, stderr, exitWith: (given) => (code = given) })
  stdout.end()
  stderr.end()
  const [out, err] = await written
  requireDocumented(args, out)
  return { code, stdout: out, stderr: err }
}

/** Runs one command at a terminal, which shows results and messages together; returns the text on it afterwards. */
export async function runOnScreen(
  command: Command,
  args: readonly string[],
  { columns = 80 } = {},
): Promise<{ code: ExitCode; text: string; broken: readonly string[] }> {
  const screen = new FakeScreen({ columns })
  const { signal } = new AbortController()
  let code: ExitCode = 0
  await runWith(command, args, { signal, stdout: screen, stderr: screen, exitWith: (given) => (code = given) })
  return { code, text: screen.text, broken: screen.broken }
}

async function runWith(command: Command, args: readonly string[], io: Io): Promise<string[]> {
  const runnable = command(io)
  try {
    await runnable.parseAsync(args, { from: 'user' })
  } catch (error) {
    io.exitWith(factsOf(error).exitCode)
    io.stderr.write(error instanceof Error ? `${error.message}\n` : String(error))
  }
  return [runnable.name(), ...args]
}

/** A command to the terminal, or one character. */
const SEQUENCE = new RegExp(String.raw`\u{1b}\[\??\d*[A-Za-z]|[\s\S]`, 'gu')

/** A terminal in memory, with its visible text. It supports what the program uses: lines, a row up or down, and a row or its end erased. */
export class FakeScreen extends Writable {
  readonly isTTY = true
  columns: number
  rows: number
  /** Every row ever written, including those scrolled away. */
  #rows: string[] = ['']
  #row = 0
  /** Rows that were too long, so that the terminal wrapped them. */
  readonly broken: string[] = []
  #column = 0

  constructor({ columns = 80, rows = 24 } = {}) {
    super({ decodeStrings: false })
    this.columns = columns
    this.rows = rows
  }

  override _write(chunk: string | Buffer, _: BufferEncoding, done: () => void): void {
    for (const [token] of String(chunk).matchAll(SEQUENCE)) this.#take(token)
    done()
  }

  /** The text written and not erased since. */
  get text(): string {
    return this.#rows.join('\n').trimEnd()
  }

  #take(token: string): void {
    if (token === '\n') this.#move(this.#row + 1, 0)
    else if (token === '\r') this.#column = 0
    else if (token.length > 1) this.#command(token.slice(2, -1), token.at(-1))
    else this.#put(token)
  }

  #command(number: string, name: string | undefined): void {
    if (name === 'A') this.#move(this.#highest(Number(number)), this.#column)
    else if (name === 'B') this.#move(this.#row + Number(number), this.#column)
    else if (name === 'G') this.#column = 0
    else if (name === 'K')
      this.#rows[this.#row] = number === '2' ? '' : (this.#rows[this.#row] ?? '').slice(0, this.#column)
  }

  /** A terminal cannot go above its first row. */
  #highest(rows: number): number {
    return Math.max(this.#row - rows, this.#rows.length - this.rows, 0)
  }

  #move(row: number, column: number): void {
    while (this.#rows.length <= row) this.#rows.push('')
    this.#row = row
    this.#column = column
  }

  #put(character: string): void {
    if (this.#column >= this.columns) {
      this.broken.push(this.#rows[this.#row] ?? '')
      this.#move(this.#row + 1, 0)
    }
    const row = (this.#rows[this.#row] ?? '').padEnd(this.#column)
    this.#rows[this.#row] = row.slice(0, this.#column) + character + row.slice(this.#column + 1)
    this.#column += 1
  }
}
