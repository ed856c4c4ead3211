import type { Config } from '../../config/read-config.ts'

/**
 * The configuration that `--config` names, or else the environment or its usual name. What reads it is loaded only by commands that need one.
 * `instead` is what the command takes in its place. Throws ConfigError.
 */
export async function namedConfig(file: string | undefined, instead?: string): Promise<Config> {
  const { readConfig } = await import('../../config/read-config.ts')
  return readConfig({ file, cwd: process.cwd(), ...(instead !== undefined && { instead }) })
}
