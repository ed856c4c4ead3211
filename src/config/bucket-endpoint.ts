import { isLoopback } from './base-url.ts'
import type { Environment } from './environment.ts'

/** The mistake in the address of a service that speaks S3, as a sentence that never repeats the address; undefined where there is none. */
export function endpointMistake(text: string): string | undefined {
  if (!/^https?:\/\/[^\s\\/]/i.test(text) || /[\s\\?#]/.test(text) || !URL.canParse(text)) return NO_ADDRESS
  const url = new URL(text)
  if (url.username !== '' || url.password !== '')
    return 'must not hold a user name or password: credentials come from the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)'
  if (url.pathname !== '/') return `${NO_ADDRESS}, without a path: the bucket and its prefix belong in to`
  if (url.protocol !== 'https:' && !isLoopback(url))
    return 'must be an https URL (plain http is accepted for this machine only, e.g. http://127.0.0.1:9000): customers would travel in the clear'
  return undefined
}

const NO_ADDRESS = 'must be an https URL such as https://minio.example.com'

/** What the environment says of the service. */
export type BucketEnvironment = {
  endpoint: string | undefined
  region: string | undefined
  /** Undefined where a profile is named, or nothing: then its client looks for a profile or a role. */
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string } | undefined
}

/** By the variables that all programs of Amazon read; an empty one is not set. */
export function bucketEnvironment(environment: Environment): BucketEnvironment {
  const [endpoint, region, profile, accessKeyId, secretAccessKey, sessionToken] = [
    ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'],
    ['AWS_REGION', 'AWS_DEFAULT_REGION'],
    ['AWS_PROFILE'],
    ['AWS_ACCESS_KEY_ID'],
    ['AWS_SECRET_ACCESS_KEY'],
    ['AWS_SESSION_TOKEN'],
  ].map((names) => names.map((name) => environment[name]).find((text) => text !== undefined && text !== ''))
  if (profile !== undefined || accessKeyId === undefined || secretAccessKey === undefined)
    return { endpoint, region, credentials: undefined }
  const credentials = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
  return { endpoint, region, credentials }
}
