import { exactUrl, holdsCredentials, isInTheClear } from '../address/http-address.ts'
import { ConfigError } from '../errors/errors.ts'
import type { Environment } from './environment.ts'

/** A place in a bucket. The prefix has no slash at its ends, and is empty for the bucket itself. */
export type BucketAddress = { bucket: string; prefix: string }

/** Whether a text is meant as an address in object storage, and not as a path. */
export function isBucketAddress(text: string): boolean {
  return /^s3:/i.test(text)
}

/** `s3://bucket/prefix`, or a sentence about its mistake. */
export function parseBucketAddress(text: string): BucketAddress | { problem: string } {
  const [, bucket, path = ''] = /^s3:\/\/([^/]*)(?:\/(.*))?$/s.exec(text) ?? []
  if (bucket === undefined) return { problem: FORM }
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/.test(bucket))
    return { problem: `${FORM}; the name of a bucket has 3 to 63 letters, digits, dots and dashes` }
  const prefix = path.replace(/\/+$/, '')
  const isClean = /^[A-Za-z0-9._=/-]*$/.test(prefix) && prefix.length <= LONGEST_PREFIX
  const hasGap = prefix !== '' && prefix.split('/').some((step) => ['', '.', '..'].includes(step))
  if (isClean && !hasGap) return { bucket, prefix }
  return {
    problem: `names a prefix that not every program reads: use letters, digits and . _ - = between single slashes, at most ${LONGEST_PREFIX}`,
  }
}

const FORM = 'must be an address such as s3://bucket/prefix'

/** Keys may have 1,024 bytes; this leaves room for the names of organizations and of objects. */
const LONGEST_PREFIX = 500

/** The address as a person writes it. */
export function bucketAddressText({ bucket, prefix }: BucketAddress): string {
  return prefix === '' ? `s3://${bucket}` : `s3://${bucket}/${prefix}`
}

/** The mistake in the address of a service that speaks S3, as a sentence that never repeats the address; undefined where there is none. */
function endpointMistake(text: string): string | undefined {
  const url = exactUrl(text)
  if (url === undefined || /[?#]/.test(text)) return NO_ADDRESS
  if (holdsCredentials(url))
    return 'must not hold a user name or password: credentials come from the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)'
  if (url.pathname !== '/') return `${NO_ADDRESS}, without a path: the bucket and its prefix belong in to`
  if (isInTheClear(url))
    return 'must be an https URL (plain http is accepted for this machine only, e.g. http://127.0.0.1:9000): customers would travel in the clear'
  return undefined
}

const NO_ADDRESS = 'must be an https URL such as https://minio.example.com'

/** How a service is reached. */
export type BucketEnvironment = {
  /** Undefined for Amazon S3. */
  endpoint: string | undefined
  region: string | undefined
  /** Undefined where a profile is named, or nothing: then its client looks for a profile or a role. */
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string } | undefined
}

/** What the variables say that all programs of Amazon read; an empty one is not set. Throws ConfigError for an endpoint with a mistake. */
export function bucketEnvironment(environment: Environment): BucketEnvironment {
  const first = (...names: readonly string[]) =>
    names.map((name) => environment[name]).find((text) => text !== undefined && text !== '')
  const endpoint = endpointOf(first('AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'))
  const region = first('AWS_REGION', 'AWS_DEFAULT_REGION')
  const accessKeyId = first('AWS_ACCESS_KEY_ID')
  const secretAccessKey = first('AWS_SECRET_ACCESS_KEY')
  const sessionToken = first('AWS_SESSION_TOKEN')
  if (first('AWS_PROFILE') !== undefined || accessKeyId === undefined || secretAccessKey === undefined)
    return { endpoint, region, credentials: undefined }
  const credentials = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
  return { endpoint, region, credentials }
}

function endpointOf(text: string | undefined): string | undefined {
  const message = text === undefined ? undefined : endpointMistake(text)
  if (message === undefined) return text
  throw new ConfigError([{ file: 'environment AWS_ENDPOINT_URL_S3', message }])
}
