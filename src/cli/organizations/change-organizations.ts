import type { CommandUnknownOpts } from '@commander-js/extra-typings'
import type { Organizations } from '../../organizations.ts'
import type { Config } from '../../config/read-config.ts'
import { UsageError } from '../../errors/errors.ts'
import { listedNames } from '../../listed-names.ts'
import { namedConfig } from '../arguments/named-config.ts'

/** Reads the configuration, opens the organizations of its mirror to change them, and closes them after `work`. */
export async function withOrganizations<Result>(
  file: string | undefined,
  work: (organizations: Organizations, config: Config) => Promise<Result>,
): Promise<Result> {
  const [config, { openOrganizations }] = await Promise.all([namedConfig(file), import('../../mirror/mirror.ts')])
  const organizations = await openOrganizations(config.mirror)
  try {
    return await work(organizations, config)
  } finally {
    await organizations.close()
  }
}

/**
 * The options of the command and of `organizations`. Throws UsageError for a mirror that is named there: the one of the
 * configuration would be changed.
 */
export function optionsToChange(command: Pick<CommandUnknownOpts, 'optsWithGlobals'>): {
  config?: string
  json?: true
} {
  const { mirror, ...options }: { config?: string; json?: true; mirror?: string } = command.optsWithGlobals()
  if (mirror === undefined) return options
  throw new UsageError(
    '--mirror is for the list alone. Nothing was changed. The organizations of the mirror that the configuration names are ' +
      'changed: name another configuration with --config.',
  )
}

/** Whether the configuration names the organization. */
export function isConfigured({ organizations }: Pick<Config, 'organizations'>, id: string): boolean {
  return organizations.some((organization) => organization.id === id)
}

/** Throws UsageError for an organization that is still configured; `consequence` is what its next run would do. */
export function requireLeft(id: string, config: Config, consequence: string): void {
  if (!isConfigured(config, id)) return
  throw new UsageError(
    `${id}: is still in the configuration (${config.file}), so its next run would ${consequence}. Nothing was changed. Take it ` +
      'out there first; a worker that runs reads the file within two seconds.',
  )
}

/** Throws UsageError for an organization of which the mirror holds nothing; `todo` is what to do if it is only configured. */
export async function requireMirrored(
  id: string,
  organizations: Pick<Organizations, 'list'>,
  config: Config,
  todo: string,
): Promise<void> {
  const names = await organizations.list()
  if (names.includes(id)) return
  if (isConfigured(config, id))
    throw new UsageError(`${id}: is in the configuration, and the mirror holds nothing of it. ${todo}`)
  const { didYouMean } = await import('../../config/checks/suggestion.ts')
  throw new UsageError(
    `unknown organization "${id}"${didYouMean(id, names)}: the mirror has ${names.length === 0 ? 'none' : listedNames(names)}`,
  )
}
