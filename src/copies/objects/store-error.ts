import { isOurs } from '../../errors/errors.ts'
import { tlsFailure, type Fault } from '../../errors/faults.ts'
import { copyFault } from '../copy-error.ts'

/** The name that the client gives an error: the code in the answer of the service, or that of the system. */
export function errorNameOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  return 'code' in error && typeof error.code === 'string' && /^[A-Z][A-Z\d_]+$/.test(error.code)
    ? error.code
    : error.name
}

/** The HTTP status of the answer; undefined where there was none. */
export function statusOf(error: unknown): number | undefined {
  const status = valueOf(valueOf(error, '$metadata'), 'httpStatusCode')
  return typeof status === 'number' ? status : undefined
}

/**
 * What the service refused or could not do, as CopyFailed or UsageError; errors of this program unchanged. The message never holds what the
 * service said, which may quote keys and signatures, but its code.
 */
export function storeError(error: unknown, shown: string, call: string): unknown {
  if (isOurs(error) || !(error instanceof Error)) return error
  const [name, status] = [errorNameOf(error), statusOf(error)]
  const tls = tlsFailure(name, error.message)
  const fault = tls === undefined ? faultOf(error, name, status) : 'denied'
  if (fault === undefined) return error
  const what = tls?.what ?? (status === undefined ? wordsOfClient(error, fault) : 'the service refused a request')
  const facts = [call, name === NO_NAME ? undefined : name, status].filter((each) => each !== undefined).join(', ')
  const fix = tls === undefined ? '' : `. ${tls.fix.replace(/\.$/, '')}`
  return copyFault(shown, { fault, said: `${what} (${facts})${fix}` }, { where: 'bucket', cause: error })
}

/** That of an error which the client gave none of its own. */
const NO_NAME = 'Error'

/** Undefined for an error of this program. */
function faultOf(error: Error, name: string, status: number | undefined): Fault | undefined {
  if (status === undefined) {
    if (OF_CLIENT.test(`${name}: ${error.message}`) || valueOf(error, 'syscall') === 'open') return 'denied'
    return /^(E[A-Z_]+|HPE_[A-Z_]+|TimeoutError|AbortError)$/.test(name) ? 'gone' : undefined
  }
  if (status === 507 || /QuotaExceeded|StorageFull|InsufficientStorage|^EntityTooLarge$/i.test(name)) return 'full'
  // What succeeded and cannot be read: its end is missing, or a proxy has put its own answer in its place.
  const isCut = status < 300
  return isCut || status >= 500 || [408, 429, 499].includes(status) || MOMENTARY.test(name) ? 'gone' : 'denied'
}

/** What the client cannot use, before it sends anything. */
const OF_CLIENT =
  /^(CredentialsProviderError|ERR_INVALID_CHAR)|: (Region is missing|Region not accepted|Invalid parameter for "defaultsMode")/

/** What another attempt may do, whatever the status: a connection too slow for the service, others who change the same, a broken transfer. */
const MOMENTARY =
  /^(RequestTimeout|IncompleteBody|OperationAborted|ConditionalRequestConflict|BadDigest|InvalidDigest|XAmzContentSHA256Mismatch)$|Throttl/

/** Its sentences quote no secrets: they are about settings, files and names. */
function wordsOfClient({ message }: Error, fault: Fault): string {
  return fault === 'gone' ? 'no answer' : (message.split('\n')[0] ?? '').replace(/\.$/, '')
}

function valueOf(data: unknown, name: string): unknown {
  if (typeof data !== 'object' || data === null) return undefined
  const value: unknown = Reflect.get(data, name)
  return value
}
