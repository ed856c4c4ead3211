import { resolve } from 'node:path'
import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { absoluteMirror, isLikeAddress } from '../address/mirror-address.ts'
import { addressProblem, holdsPassword } from '../address/postgres-address.ts'
import type { Config } from '../config/read-config.ts'
import { UsageError } from '../errors/errors.ts'
import { monotonicMs } from '../machine/timers.ts'
import type { Mirror } from '../model/mirror.ts'
import type { LeasedRun } from '../model/report.ts'
import { durationMs } from '../time/durations.ts'
import { isoOf, utcMoment } from '../time/moments.ts'
import type { Io } from './io.ts'
import { jsonDocument, say } from './output/say.ts'
import { printTable, type Table } from './output/table.ts'

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

/** A command that reads the configuration. */
export function command(name: string, help: Help) {
  return bareCommand(name, help).option('-c, --config <file>', 'configuration file')
}

/** The same with a document: `--json`. */
export function jsonCommand(name: string, help: Help) {
  return command(name, help).option(...JSON_OPTION)
}

/** `--json`, as every command with a document has it. */
export const JSON_OPTION = ['--json', 'print one JSON document'] as const

/** Prints the document where `--json` asks for it, and otherwise the table and the text below it. */
export function show(
  { stdout }: Pick<Io, 'stdout'>,
  json: true | undefined,
  { document, table, text = '' }: { document: Record<string, unknown>; table?: Table; text?: string },
): void {
  if (json) return void stdout.write(jsonDocument(document))
  if (table !== undefined) printTable(stdout, table)
  say(stdout, text)
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

/** A whole number: from `least` to `most`, or of up to so many digits. */
export function wholeNumber({ least, most = Infinity, digits = 9 }: { least: number; most?: number; digits?: number }) {
  const bounds = most === Infinity ? `, at least ${least}` : ` from ${least} to ${most}`
  const isOne = (text: string) => /^\d+$/.test(text) && text.length <= digits && +text >= least && +text <= most
  return argument((text) => (isOne(text) ? Number(text) : undefined), `a whole number${bounds}`)
}

/** `--limit`, for commands that list the latest entries. */
export function limitOption(most: number) {
  return new Option('--limit <number>', 'how many at most').default(most).argParser(wholeNumber({ least: 1 }))
}

/** The number of a run in a text, as `runs` and `removals` show it, with or without `#`; undefined in any other text. */
export function runNumberIn(text: string): number | undefined {
  return /^#?[1-9]\d{0,14}$/.test(text) ? Number(text.replace('#', '')) : undefined
}

/** A moment in Unix milliseconds, with its zone or in UTC; undefined for any other text. */
export function momentIn(text: string): number | undefined {
  const moment = utcMoment(text)
  return moment === null ? undefined : Date.parse(isoOf(moment))
}

/**
 * The configuration that `--config` names, or else the environment or its usual name. What reads it is loaded only by commands that need one.
 * `instead` is what the command takes in its place. Throws ConfigError.
 */
export async function namedConfig(file: string | undefined, instead?: string): Promise<Config> {
  const { readConfig } = await import('../config/read-config.ts')
  return readConfig({ file, cwd: process.cwd(), ...(instead !== undefined && { instead }) })
}

/** The absolute path of a file that is named on the command line. Throws UsageError for an empty name, and for an address. */
export function namedFile(text: string, what: string): string {
  if (text.trim() === '') throw new UsageError(`The name of the ${what} is empty: name a file.`)
  if (isLikeAddress(text))
    throw new UsageError(`The ${what} must be on this machine, and what is named is an address. Name a path.`)
  // A slash at the end means a folder, and is not lost.
  return /[/\\]$/.test(text) ? `${resolve(text)}/` : resolve(text)
}

/** A mirror named on the command line: an absolute path, or an address. Throws UsageError for one that cannot be, or with a password. */
export function namedMirror(text: string, option = '--mirror'): string {
  const problem = addressProblem(text)
  if (problem !== undefined) throw new UsageError(`${option} ${problem}`)
  if (holdsPassword(text))
    throw new UsageError(
      `${option} holds a password, which every user of this machine can see in the list of processes. Put it in PGPASSWORD ` +
        'or a password file (~/.pgpass), and change it.',
    )
  return absoluteMirror(text, process.cwd())
}

/** The moment, by the clock of the machine and by its monotonic one. */
export function clocks() {
  return { nowMs: Date.now(), monotonicMs: monotonicMs() }
}

/** Reads the configuration, opens its mirror to read, and closes it again after `work`. */
export async function withMirror<Result>(
  file: string | undefined,
  work: (mirror: Mirror, config: Config) => Promise<Result>,
): Promise<Result> {
  const config = await namedConfig(file)
  const { openMirrorToRead } = await import('../store/mirror.ts')
  return closing(await openMirrorToRead(config.mirror), (mirror) => work(mirror, config))
}

/** The same to change it. Throws MirrorUnusable where there is none yet: none is made for what cannot be in it. */
export async function withMirrorToChange<Result>(
  file: string | undefined,
  work: (mirror: Mirror, config: Config) => Promise<Result>,
): Promise<Result> {
  const config = await withMirror(file, async (_, read) => read)
  const { openMirror } = await import('../store/mirror.ts')
  return closing(await openMirror(config.mirror), (mirror) => work(mirror, config))
}

/** Closes the mirror, or its organizations, after `work`. */
export async function closing<Opened extends { close(): Promise<void> }, Result>(
  opened: Opened,
  work: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(opened)
  } finally {
    await opened.close()
  }
}

/** The runs under way, as the mirror on this machine knows them; none where it is on another one. */
export async function listUnderway({ file }: Config): Promise<LeasedRun[]> {
  return withMirror(file, (mirror) => mirror.listUnderway(clocks())).catch(() => [])
}

/** Throws UsageError for an organization that neither the configuration nor the mirror knows. */
export async function requireKnown(organization: string | undefined, mirror: Mirror, config: Config): Promise<void> {
  if (organization === undefined) return
  if ((await mirror.listRuns({ organization, limit: 1 })).length > 0) return
  const { chooseOrganizations } = await import('../config/organization.ts')
  chooseOrganizations(config, [organization])
}

/** `--mirror`: another file than the one of the configuration. */
export function mirrorOption() {
  return new Option('--mirror <file>', 'a mirror, or a published copy of one, in place of that of the configuration')
}

/**
 * The file to read: a mirror or a copy that is named, or the mirror of the configuration, whose address may hold a password. With the organizations
 * of the configuration, which may be asked for before the mirror knows them, and the configuration that was read.
 */
export async function fileToRead({ config: file, mirror }: { config?: string; mirror?: string }): Promise<Place> {
  if (mirror?.trim() === '') throw new UsageError('--mirror is empty: name a mirror, or a copy of one')
  if (mirror !== undefined && file !== undefined)
    throw new UsageError('--mirror names the file itself, and --config a configuration that names it. Use one of them.')
  if (mirror !== undefined) return { file: namedMirror(mirror), configured: [], configuration: undefined }
  const config = await namedConfig(file, 'a mirror or a copy of one with --mirror')
  return { file: config.mirror, configured: config.organizations.map(({ id }) => id), configuration: config.file }
}

type Place = { file: string; configured: readonly string[]; configuration: string | undefined }
