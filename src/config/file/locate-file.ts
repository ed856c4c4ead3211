import { access } from 'node:fs/promises'
import { isAbsolute, relative, resolve } from 'node:path'
import { ConfigError } from '../../errors/errors.ts'
import type { Environment } from '../environment.ts'

/** The configuration file to read: its path, its name in messages, and how it was chosen. */
export type ConfigLocation = { path: string; shown: string; named: '--config' | typeof VARIABLE | undefined }

const VARIABLE = 'CUSTOMER_MIRROR_CONFIG'
const USUAL_NAMES = ['customer-mirror.yaml', 'customer-mirror.yml', 'customer-mirror.json']

/** The file named by --config, or by the environment, or the first of the default names that exists. */
export async function locateFile({ file, cwd, environment }: Request): Promise<ConfigLocation> {
  // An empty --config comes from an unset shell variable; silently reading another file would surprise.
  if (file?.trim() === '') throw new ConfigError([{ file: '--config', message: 'is empty: name a configuration file' }])
  if (file !== undefined) return location(file, cwd, '--config')
  const named = environment[VARIABLE]
  if (named !== undefined && named.trim() !== '') return location(named, cwd, VARIABLE)
  for (const name of USUAL_NAMES) {
    if (await exists(resolve(cwd, name))) return location(name, cwd, undefined)
  }
  return location('customer-mirror.yaml', cwd, undefined)
}

type Request = { file?: string | undefined; cwd: string; environment: Environment }

function location(file: string, cwd: string, named: ConfigLocation['named']): ConfigLocation {
  const path = resolve(cwd, file)
  const near = relative(cwd, path)
  return { path, shown: near === '' || near.startsWith('..') || isAbsolute(near) ? path : near, named }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
