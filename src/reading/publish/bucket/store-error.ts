import { CopyFailed, isOurs } from '../../../errors/errors.ts'
import { tlsFailure } from '../../../errors/tls-failure.ts'

/** The name that the client gives an error: the code in the answer of the service, or that of the system. */
export function errorNameOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  return 'code' in error && typeof error.code === 'string' && /^[A-Z][A-Z\d_]+$/.test(error.code)
    ? error.code
    : error.name
}

/** The HTTP status of the answer; undefined where there was none. */
export function statusOf(error: unknown): number | undefined {
  const metadata = valueOf(error, '$metadata')
  const status = valueOf(metadata, 'httpStatusCode')
  return typeof status === 'number' ? status : undefined
}

/**
 * What the service refused or could not do, as CopyFailed. The message never holds what the service said, which may quote keys and
 * signatures, but its code.
 */
export function storeError(error: unknown, shown: string, endpoint: string | undefined): unknown {
  if (isOurs(error)) return error
  const name = errorNameOf(error)
  const status = statusOf(error)
  const meaning =
    misconfigured(error) ??
    untrusted(error) ??
    meaningOf(name, status, regionIn(error)) ??
    outageOf(name, status, endpoint)
  if (meaning === undefined) return error
  return failed(shown, meaning, error)
}

function failed(shown: string, [code, what]: Meaning, cause: unknown): CopyFailed {
  const name = errorNameOf(cause)
  const facts = [name === NO_NAME ? undefined : name, statusOf(cause)].filter(Boolean).join(', ')
  return new CopyFailed(`${shown}: ${what} ${STAYS}${facts && ` (${facts})`}`, { code }, { cause })
}

/** That of an error which the client gave none of its own. */
const NO_NAME = 'Error'

const STAYS = 'What was published before is unchanged.'

type Meaning = [code: CopyFailed['code'], what: string]

/** What the client could not use before it sent anything; it gives these errors no names of their own. */
function misconfigured(error: unknown): Meaning | undefined {
  if (!(error instanceof Error)) return undefined
  if (error.message === 'Region is missing') return ['copy-unwritable', NO_REGION]
  if (error.message.startsWith('Region not accepted')) return ['copy-unwritable', BAD_REGION]
  if (error.message.startsWith('Invalid parameter for "defaultsMode"')) return ['copy-unwritable', BAD_MODE]
  return valueOf(error, 'syscall') === 'open' ? ['copy-unwritable', NO_TOKEN_FILE] : undefined
}

/** Undefined where there was a TLS connection, or none was tried. */
function untrusted(error: unknown): Meaning | undefined {
  const failure = error instanceof Error ? tlsFailure(errorNameOf(error), error.message) : undefined
  return failure && ['copy-unwritable', `${failure.what}. ${failure.fix}`]
}

/** Undefined for an error of this program. */
function outageOf(name: string, status: number | undefined, endpoint: string | undefined): Meaning | undefined {
  if (status === undefined && !/^(E[A-Z_]+|HPE_[A-Z_]+|TimeoutError|AbortError)$/.test(name)) return undefined
  if (
    status === undefined ||
    status >= 500 ||
    [408, 429, 499].includes(status) ||
    MOMENTARY.test(name) ||
    isCut(status)
  )
    return ['copy-unreachable', `${unreachable(endpoint)}.`]
  return ['copy-unwritable', 'the service refused a request.']
}

/** Whether the service did what was asked, and its answer cannot be read: its end is missing, or a proxy has put its own in its place. */
function isCut(status: number): boolean {
  return status < 300
}

/** What another attempt may do, whatever the status: a connection too slow for the service, or others who change the same. */
const MOMENTARY = /^(RequestTimeout|IncompleteBody|OperationAborted|ConditionalRequestConflict)$|Throttl/

function meaningOf(name: string, status: number | undefined, region: string | undefined): Meaning | undefined {
  const known = MEANINGS.find(([pattern]) => pattern.test(name))
  if (known !== undefined) return [known[1], known[2]]
  if (
    /Redirect|^AuthorizationHeaderMalformed$|^IllegalLocationConstraint/.test(name) ||
    status === 301 ||
    status === 307 ||
    (status === 400 && region !== undefined)
  )
    return ['copy-unwritable', wrongRegion(region)]
  if (status === 413) return ['copy-unwritable', TOO_LARGE]
  if (status === 507) return ['copy-full', FULL]
  if (status === 401 || status === 403) return ['copy-unwritable', DENIED]
  if (status === 404) return ['copy-unwritable', NO_BUCKET]
  return undefined
}

function wrongRegion(region: string | undefined): string {
  const where = region === undefined ? 'the region of the bucket' : region
  return `the bucket is in another region. Set publish.region, or AWS_REGION, to ${where}.`
}

function unreachable(endpoint: string | undefined): string {
  return endpoint === undefined
    ? 'Amazon S3 does not answer, or cannot at the moment. Check the network and the region'
    : `${new URL(endpoint).host} does not answer, or cannot at the moment. Check the endpoint and the network`
}

const FULL = 'the bucket is full, or a quota is used up.'
const NO_BUCKET = 'there is no such bucket. Create it, or check its name, the endpoint and the region.'
const NO_REGION = 'the region of the bucket is not known. Set publish.region, or AWS_REGION.'
const BAD_REGION = 'that is no region. Correct publish.region, or AWS_REGION.'
const BAD_MODE =
  'AWS_DEFAULTS_MODE, or defaults_mode in the profile, has a value that its client does not know. Unset or correct it.'
const NO_TOKEN_FILE =
  'the file with the token of a role cannot be read. Check AWS_WEB_IDENTITY_TOKEN_FILE, or AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE of a ' +
  'container, or web_identity_token_file in the profile.'
const BAD_CHARACTER = 'the credentials hold a character that cannot be sent, such as a line break. Set them anew.'
const NO_CREDENTIALS =
  'there are no credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a profile or a role.'
const DENIED =
  'these credentials may not do that. They need s3:ListBucket and s3:ListBucketMultipartUploads on the bucket, and s3:GetObject, ' +
  's3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload on what is below the prefix.'
const BAD_KEY = 'the service does not accept the credentials. Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.'
const OTHER_HOST =
  'If they are right, a proxy on the way changes the Host of requests, which is signed: have it pass that on (nginx: proxy_set_header Host $http_host).'
const TOO_LARGE =
  'a proxy on the way takes no requests of this size. Have it take 8 MiB (nginx: client_max_body_size 8m), or let publish.endpoint name the service itself.'

const MEANINGS: readonly [RegExp, CopyFailed['code'], string][] = [
  [/^NoSuchBucket$/, 'copy-unwritable', NO_BUCKET],
  [/^CredentialsProviderError$/, 'copy-unwritable', NO_CREDENTIALS],
  [/^ERR_INVALID_CHAR$/, 'copy-unwritable', BAD_CHARACTER],
  [/^InvalidAccessKeyId$/, 'copy-unwritable', BAD_KEY],
  [/^SignatureDoesNotMatch$/, 'copy-unwritable', `${BAD_KEY} ${OTHER_HOST}`],
  [
    /^(ExpiredToken|InvalidToken|TokenRefreshRequired)/,
    'copy-unwritable',
    'the session of these credentials is over. Sign in anew.',
  ],
  [
    /^RequestTimeTooSkewed$/,
    'copy-unwritable',
    'the service refuses the time of this machine. Set its clock (timedatectl set-ntp true).',
  ],
  [/^(AccessDenied|AllAccessDisabled|Forbidden|UnauthorizedAccess)/, 'copy-unwritable', DENIED],
  [/QuotaExceeded|StorageFull|InsufficientStorage|^EntityTooLarge$/i, 'copy-full', FULL],
  [
    /^(BadDigest|InvalidDigest|XAmzContentSHA256Mismatch)$/,
    'copy-unreachable',
    'what arrived is not what was sent. Publish again.',
  ],
]

/** Where the service says that the bucket is. */
function regionIn(error: unknown): string | undefined {
  const headers = valueOf(valueOf(error, '$response'), 'headers')
  const region = valueOf(headers, 'x-amz-bucket-region') ?? valueOf(error, 'Region')
  return typeof region === 'string' && /^[a-z0-9-]{1,63}$/.test(region) ? region : undefined
}

function valueOf(data: unknown, name: string): unknown {
  if (typeof data !== 'object' || data === null) return undefined
  const value: unknown = Reflect.get(data, name)
  return value
}
