import { httpsAddress } from '../address/http-address.ts'
import { ConfigError } from '../errors/errors.ts'

/* What the environment says. Secrets that a configuration names by a variable are looked up in credentials.ts. */

export type Environment = Readonly<Record<string, string | undefined>>

/** The environment of this process. Only this function reads it; all other code receives it as an argument. */
export function processEnvironment(): Environment {
  return process.env
}

export const MIRROR_VARIABLE = 'CUSTOMER_MIRROR_MIRROR'

/** What `CUSTOMER_MIRROR_MIRROR` names, unchecked; undefined when it is not set. */
export function mirrorOfEnvironment(environment: Environment): string | undefined {
  return environment[MIRROR_VARIABLE] || undefined
}

/** Throws ConfigError where there is a mistake in a variable. */
export function refuseVariable(name: string, message: string | undefined): void {
  if (message !== undefined) throw new ConfigError([{ file: `environment ${name}`, message }])
}

/** What the variables say that all programs of Amazon read; an empty one is not set. Throws ConfigError for an endpoint with a mistake. */
export function bucketEnvironment(environment: Environment) {
  const first = (...names: readonly string[]) =>
    names.map((name) => environment[name]).find((text) => text !== undefined && text !== '')
  const endpoint = first('AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL')
  refuseVariable('AWS_ENDPOINT_URL_S3', endpoint && endpointMistake(endpoint))
  const region = first('AWS_REGION', 'AWS_DEFAULT_REGION')
  const accessKeyId = first('AWS_ACCESS_KEY_ID')
  const secretAccessKey = first('AWS_SECRET_ACCESS_KEY')
  const sessionToken = first('AWS_SESSION_TOKEN')
  // Without a key, the client of the bucket looks for a profile or a role.
  if (first('AWS_PROFILE') !== undefined || accessKeyId === undefined || secretAccessKey === undefined)
    return { endpoint, region, credentials: undefined }
  const credentials = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
  return { endpoint, region, credentials }
}

const ENDPOINT = 'https://minio.example.com'

function endpointMistake(text: string): string | undefined {
  const url = httpsAddress(text, ENDPOINT)
  if ('problem' in url) return url.problem
  if (url.pathname === '/' && !/[?#]/.test(text)) return undefined
  return `must be an address such as ${ENDPOINT}, without a path: the bucket and its prefix belong in to`
}
