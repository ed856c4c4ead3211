import type { Organization } from '../src/config/organization.ts'
import { readConfig, type Config } from '../src/config/read-config.ts'
import { checkSchedules } from './schedule/reconcile.ts'

/** The last configuration that was read without a mistake. */
export type LiveConfig = {
  readonly current: Config
  organizationOf: (id: string) => Organization | undefined
  /** Reads the file again. If it has mistakes, throws ConfigError and keeps the last configuration. */
  reload(): Promise<void>
}

export async function openLiveConfig(
  source: { file?: string | undefined; cwd: string },
  now: () => number,
): Promise<LiveConfig> {
  let current = await readChecked(source, now)
  return {
    get current() {
      return current
    },
    organizationOf: (id) => current.organizations.find((organization) => organization.id === id),
    reload: async () => {
      // The open mirror and queue stay in use.
      const { mirror, queue, file } = current
      current = { ...(await readChecked({ ...source, file }, now)), mirror, queue }
    },
  }
}

async function readChecked(source: { file?: string | undefined; cwd: string }, now: () => number): Promise<Config> {
  const config = await readConfig(source)
  checkSchedules(config, now())
  return config
}
