import { resolve } from 'node:path'
import { absoluteMirror, isLikeAddress } from '../address/mirror-address.ts'
import { addressProblem, holdsPassword } from '../address/postgres-address.ts'
import type { Config } from '../config/read-config.ts'
import { UsageError } from '../errors/errors.ts'
import { monotonicMs } from '../machine/timers.ts'
import type { Mirror } from '../store/mirror.ts'
import type { LeasedRun } from '../model/report.ts'

/**
 * The configuration that `--config` names, or else the environment or its usual name. What reads it is loaded only by commands that need one.
 * `instead` is what the command takes in its place. Throws ConfigError.
 */
export async function namedConfig(file: string | undefined, instead?: string): Promise<Config> {
  const { readConfig } = await import('../config/read-config.ts')
  return readConfig({ file, cwd: process.cwd(), instead })
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

type Work<Result> = (mirror: Mirror, config: Config) => Promise<Result>

/** Reads the configuration, opens its mirror to read, and closes it again after `work`. */
export async function withMirror<Result>(file: string | undefined, work: Work<Result>): Promise<Result> {
  const config = await namedConfig(file)
  return reading(config, (mirror) => work(mirror, config))
}

async function reading<Result>({ mirror }: Config, work: (mirror: Mirror) => Promise<Result>): Promise<Result> {
  const { closing, openMirrorToRead } = await import('../store/mirror.ts')
  return closing(await openMirrorToRead(mirror), work)
}

/** The same to change it. Throws MirrorUnusable where there is none yet: none is made for what cannot be in it. */
export async function withMirrorToChange<Result>(file: string | undefined, work: Work<Result>): Promise<Result> {
  const config = await withMirror(file, async (_, read) => read)
  const { closing, openMirror } = await import('../store/mirror.ts')
  return closing(await openMirror(config.mirror), (mirror) => work(mirror, config))
}

/** The runs under way, as the mirror on this machine knows them; none where it is on another one. */
export async function listUnderway(config: Config): Promise<LeasedRun[]> {
  return reading(config, (mirror) => mirror.listUnderway(clocks())).catch(() => [])
}

/** Throws UsageError for an organization that neither the configuration nor the mirror knows. */
export async function requireKnown(organization: string | undefined, mirror: Mirror, config: Config): Promise<void> {
  if (organization === undefined || (await mirror.listRuns({ organization, limit: 1 })).length > 0) return
  const { chooseOrganizations } = await import('../config/organization.ts')
  chooseOrganizations(config, [organization])
}

/**
 * The file to read: a mirror or a copy that is named, or the mirror of the configuration, whose address may hold a password. With the organizations
 * of the configuration, which may be asked for before the mirror knows them, and the configuration that was read.
 */
export async function fileToRead({ config: file, mirror }: { config?: string; mirror?: string }) {
  if (mirror?.trim() === '') throw new UsageError('--mirror is empty: name a mirror, or a copy of one')
  if (mirror !== undefined && file !== undefined)
    throw new UsageError('--mirror names the file itself, and --config a configuration that names it. Use one of them.')
  if (mirror !== undefined) return { file: namedMirror(mirror), configured: NONE, configuration: undefined }
  const config = await namedConfig(file, 'a mirror or a copy of one with --mirror')
  return { file: config.mirror, configured: config.organizations.map(({ id }) => id), configuration: config.file }
}

const NONE: readonly string[] = []
