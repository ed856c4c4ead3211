import { resolve, dirname, join } from 'node:path'
import { isPostgres } from '../address/mirror-address.ts'
import type { Environment } from './environment.ts'
import type { Config } from './read-config.ts'

export const MIRROR_VARIABLE = 'CUSTOMER_MIRROR_MIRROR'

/** What `CUSTOMER_MIRROR_MIRROR` names, unchecked; undefined when it is not set. */
export function mirrorOfEnvironment(environment: Environment): string | undefined {
  return environment[MIRROR_VARIABLE] || undefined
}

/** The mirror with an absolute path, or with that of a certificate in its address, each starting from the folder. */
export function absoluteMirror(address: string, folder: string): string {
  if (!isPostgres(address)) return resolve(folder, address)
  const url = URL.parse(address)
  const certificate = url?.searchParams.get('sslrootcert')
  if (url === null || typeof certificate !== 'string') return address
  url.searchParams.set('sslrootcert', resolve(folder, certificate))
  return url.href
}

/** Where the mirror is if the configuration names none, beside the configuration. */
export const DEFAULT_MIRROR = './data/customers.db'

/** The folder for what belongs to a mirror: that of its file, or for a database `data` beside the configuration. */
export function folderBeside({ mirror, file }: Pick<Config, 'mirror' | 'file'>): string {
  return isPostgres(mirror) ? join(dirname(file), 'data') : dirname(mirror)
}

/** Whether other processes than its worker reach the queue at this address: an embedded one is open in its worker alone. */
export function isSharedQueue(address: string | undefined): address is string {
  return address !== undefined && address !== 'embedded'
}
