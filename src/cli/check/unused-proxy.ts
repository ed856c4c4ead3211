import type { Environment } from '../../config/environment.ts'
import { SourceUnavailable } from '../../errors/errors.ts'

const NAMES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']

/** What to add to the fix where a service was not reached although the environment names a proxy, as other programs use it. */
export function unusedProxy(error: unknown, environment: Environment): string {
  if (!(error instanceof SourceUnavailable) || error.code === 'tls' || error.status !== undefined) return ''
  const name = NAMES.find((each) => (environment[each] ?? '') !== '')
  return name === undefined
    ? ''
    : ` ${name} is set, but requests go to the service directly: let this machine reach it.`
}
