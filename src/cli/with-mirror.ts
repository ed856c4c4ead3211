import type { Config } from '../config/read-config.ts'
import { monotonicMs } from '../machine/timers.ts'
import type { LeasedRun } from '../model/report.ts'
import type { HeldRemovals, Mirror } from '../model/mirror.ts'
import { namedConfig } from './arguments.ts'

/** Reads the configuration, opens its mirror to read, and closes it again after `work`. */
export async function withMirror<Result>(
  file: string | undefined,
  work: (mirror: Mirror, config: Config) => Promise<Result>,
): Promise<Result> {
  const config = await namedConfig(file)
  return withMirrorOf(config, (mirror) => work(mirror, config))
}

/** Opens the mirror of a configuration to read, and closes it again after `work`. */
export async function withMirrorOf<Result>(
  config: Pick<Config, 'mirror'>,
  work: (mirror: Mirror) => Promise<Result>,
): Promise<Result> {
  const { openMirrorToRead } = await import('../store/mirror.ts')
  return closing(await openMirrorToRead(config.mirror), work)
}

/**
 * Opens the mirror of a configuration to change it, and closes it again after `work`. Throws MirrorUnusable where there is none yet: none is
 * made for what cannot be in it.
 */
export async function withMirrorToChange<Result>(
  config: Pick<Config, 'mirror'>,
  work: (mirror: Mirror) => Promise<Result>,
): Promise<Result> {
  await withMirrorOf(config, async () => {})
  const { openMirror } = await import('../store/mirror.ts')
  return closing(await openMirror(config.mirror), work)
}

async function closing<Result>(mirror: Mirror, work: (mirror: Mirror) => Promise<Result>): Promise<Result> {
  try {
    return await work(mirror)
  } finally {
    await mirror.close()
  }
}

/** The runs under way, as the mirror on this machine knows them; none where it is on another one. */
export async function listUnderway(config: Pick<Config, 'mirror'>): Promise<LeasedRun[]> {
  const clocks = { nowMs: Date.now(), monotonicMs: monotonicMs() }
  return withMirrorOf(config, (mirror) => mirror.listUnderway(clocks)).catch(() => [])
}

/** The removals that wait for a decision; undefined where they cannot be looked up. */
export async function listHeldRemovals(config: Pick<Config, 'mirror'>): Promise<HeldRemovals[] | undefined> {
  return withMirrorOf(config, (mirror) => mirror.listHeldRemovals()).catch(() => undefined)
}

/** Throws UsageError for an organization that neither the configuration nor the mirror knows. */
export async function requireKnown(organization: string | undefined, mirror: Mirror, config: Config): Promise<void> {
  if (organization === undefined) return
  if ((await mirror.listRuns({ organization, limit: 1 })).length > 0) return
  const { chooseOrganizations } = await import('../config/organization.ts')
  chooseOrganizations(config, [organization])
}
