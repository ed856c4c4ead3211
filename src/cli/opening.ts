import { resolve } from 'node:path'
import { absoluteMirror, isLikeAddress } from '../address/mirror-address.ts'
import { addressProblem, holdsPassword } from '../address/postgres-address.ts'
import { chooseOrganizations } from '../config/organization.ts'
import type { Config } from '../config/read-config.ts'
import { UsageError } from '../errors/errors.ts'
import { monotonicMs } from '../machine/timers.ts'
import { closing, type Mirror, openMirror, openMirrorToRead } from '../store/mirror.ts'

/** The configuration of `--config`, the environment or the usual name; a command takes `instead` in its place. Throws ConfigError. */
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
  if (text.trim() === '') throw new UsageError(`${option} is empty: name a file, or the address of a database.`)
  const problem = addressProblem(text)
  if (problem !== undefined) throw new UsageError(`${option} ${problem}`)
  if (holdsPassword(text))
    throw new UsageError(
      `${option} holds a password, which every user of this machine can see in the list of processes. Put it in PGPASSWORD ` +
        'or a password file (~/.pgpass), and change it.',
    )
  return absoluteMirror(text, process.cwd())
}

export const CLOCKS = { now: Date.now, monotonicMs, random: () => Math.random() }

export function clocks() {
  return { nowMs: Date.now(), monotonicMs: monotonicMs() }
}

type Work<Result> = (mirror: Mirror, config: Config) => Promise<Result>

type Named = { config?: string | undefined; organization?: string | undefined }

/** Opens the mirror of a configuration to read, and closes it after `work`. Throws UsageError for an organization that neither of them knows. */
export async function withMirror<Result>({ config: file, organization }: Named, work: Work<Result>): Promise<Result> {
  const config = await namedConfig(file)
  return closing(await openMirrorToRead(config.mirror), async (mirror) => {
    await requireFound(organization, mirror, config)
    return work(mirror, config)
  })
}

/** The same to change it. Throws MirrorUnusable where there is none yet: none is made for what cannot be in it. */
export async function withMirrorToChange<Result>(named: Named, work: Work<Result>): Promise<Result> {
  const config = await withMirror(named, async (_, read) => read)
  return closing(await openMirror(config.mirror), (mirror) => work(mirror, config))
}

/** The runs under way, as the mirror on this machine knows them; none where it is on another one. */
export async function listUnderway({ mirror: place }: Config) {
  const opened = openMirrorToRead(place)
  return opened.then((mirror) => closing(mirror, () => mirror.listUnderway(clocks()))).catch(() => [])
}

/** Throws UsageError for an organization that neither the configuration nor the mirror knows. */
export async function requireFound(organization: string | undefined, mirror: Mirror, config: Config): Promise<void> {
  if (organization === undefined || (await mirror.listRuns({ organization, limit: 1 })).length > 0) return
  chooseOrganizations(config, [organization])
}

/** The mirror or copy that is named, or the mirror of the configuration, whose address may hold a password; with what that configures. */
export async function fileToRead({ config: file, mirror }: { config?: string; mirror?: string }) {
  if (mirror !== undefined && file !== undefined)
    throw new UsageError('--mirror names the file itself, and --config a configuration that names it. Use one of them.')
  if (mirror !== undefined)
    return { file: namedMirror(mirror), configured: new Array<string>(), configuration: undefined }
  const config = await namedConfig(file, 'a mirror or a copy of one with --mirror')
  return { file: config.mirror, configured: config.organizations.map(({ id }) => id), configuration: config.file }
}
