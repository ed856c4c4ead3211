import { resolve } from 'node:path'
import { isPostgres } from '../../address/mirror-address.ts'
import type { Environment } from '../environment.ts'

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
