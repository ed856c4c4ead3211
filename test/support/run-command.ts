import { PassThrough, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect } from 'vitest'
import type { ExitCode, Io } from '../../src/cli/command.ts'
import { factsOf } from '../../src/errors/errors.ts'
import { requireDocumented } from './json-page.ts'

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
