import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { durationMs } from '../time/durations.ts'
import { isoOf, utcMoment } from '../time/moments.ts'

/** The parts of the process that a command may use. */
export type Io = {
  /** Aborted when the user or the system asks the program to stop. */
  signal: AbortSignal
  /** For results; stderr is for all other messages. */
  stdout: NodeJS.WritableStream
  stderr: NodeJS.WritableStream
  /** Sets the exit code of a command that did its work but reports a problem. */
  exitWith: (code: ExitCode) => void
  /** From now on SIGHUP ends the process only with its terminal. Absent where no signals arrive. */
  ignoreHangUp?: () => void
  /** Asks the person at the terminal for a line; the empty text once stopped. Absent where there is no terminal. */
  ask?: (question: string) => Promise<string>
  /** Ends the process shortly, whatever timers of the queue are left, which nothing can end. Absent where the process has more to do. */
  endSoon?: () => void
}

/** The program's exit codes. A contract: scripts depend on them. */
export const EXIT_CODES = {
  0: 'every run complete',
  1: 'unexpected',
  2: 'usage or configuration',
  3: 'some organizations failed and others did not, or for different reasons; a run was cancelled, or an answer could not be used; or removals or changed fields wait for a person',
  4: 'refused by the service (400, 401, 403, 404, 422)',
  5: 'try again later: service or queue unavailable, throttled beyond maxWait, six hours reached, organization paused, a file in use, replaced or on a full disk, no answer of a server, statement too slow',
  6: 'another run holds the organization',
  7: 'the mirror cannot be used as it is: missing, damaged, not ours, too new, or not allowed',
} as const

/** Those above, and 128 with the number of the signal that stopped the program. */
export type ExitCode = keyof typeof EXIT_CODES | 130 | 143

/** The exit code of several: 3 where they differ. */
export function oneExitCode(codes: readonly ExitCode[]): ExitCode {
  const [only, ...others] = new Set(codes)
  return others.length > 0 ? 3 : (only ?? 0)
}

/** What stands below the options of a help: what is good to know, and command lines to be copied, each with what it is for. */
type Help = { about?: string; [line: string]: string | undefined }

/** A command that needs no configuration, or only has commands of its own. */
export function bareCommand(name: string, { about, ...examples }: Help) {
  const lines = Object.entries(examples).map(([line, what]) => {
    return `  $ customer-mirror ${line}\n${what === '' ? '' : `      ${what}\n`}`
  })
  const text = `${about === undefined ? '' : `\n${about}\n`}\nExamples:\n${lines.join('')}`
  return new Command(name).addHelpText('after', text)
}

export function command(name: string, help: Help) {
  return bareCommand(name, help).option('-c, --config <file>', 'configuration file')
}

export function jsonCommand(name: string, help: Help) {
  return command(name, help).option('--json', 'print one JSON document')
}

/** A parser of an option or an argument, by one that has undefined for what cannot be. */
export function argument<Value>(parse: (text: string) => Value | undefined, must: string) {
  return (text: string): Value => {
    const value = parse(text.trim())
    if (value !== undefined) return value
    throw new InvalidArgumentError(`It must be ${must}.`)
  }
}

/** A time, a number with its unit as in the configuration, in milliseconds. */
export function durationArgument({ most, least = '0s', examples }: { most: string; least?: string; examples: string }) {
  const [leastMs = 0, mostMs = Infinity] = [durationMs(least), durationMs(most)]
  const isWithin = (ms = NaN) => ms >= leastMs && ms <= mostMs
  const parse = (text: string) => (isWithin(durationMs(text)) ? durationMs(text) : undefined)
  return argument(parse, `a time with its unit, such as ${examples}; from ${least} to ${most}`)
}

export function oneOf<Word extends string>(...words: readonly Word[]) {
  return argument((text) => words.find((word) => word === text), `one of ${words.join(', ')}`)
}

/** A whole number: from `least` to `most`, or of up to 15 digits. */
export function wholeNumber({ least, most = Infinity }: { least: number; most?: number }) {
  const bounds = most === Infinity ? `, at least ${least}` : ` from ${least} to ${most}`
  const isOne = (text: string) => /^\d{1,15}$/.test(text) && +text >= least && +text <= most
  return argument((text) => (isOne(text) ? Number(text) : undefined), `a whole number${bounds}`)
}

export const positive = wholeNumber({ least: 1 })

export const port = wholeNumber({ least: 0, most: 65_535 })

/** The number of a run in a text, as `runs` and `removals` show it, with or without `#`; undefined in any other text. */
export function runNumberIn(text: string): number | undefined {
  return /^#?[1-9]\d{0,14}$/.test(text) ? Number(text.replace('#', '')) : undefined
}

/** A moment in Unix milliseconds, with its zone or in UTC; undefined for any other text. */
export function momentIn(text: string): number | undefined {
  const moment = utcMoment(text)
  return moment === null ? undefined : Date.parse(isoOf(moment))
}

export const CSV = new Option('--csv', 'print CSV (RFC 4180), values as they are').conflicts('json')

export const MIRROR = new Option('--mirror <file>', 'a mirror or published copy, in place of that of the configuration')
