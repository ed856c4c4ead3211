import { ContractBroken, RateLimited, SourceRefused, SourceUnavailable } from '../errors/errors.ts'
import { type Answer, headerOf } from './connection.ts'
import { type Clock, isNotable } from './clock.ts'
import { retryAfterMs } from './retry-after.ts'
import { parsedJson } from '../text/parsed-json.ts'
import { type Address, errorEnvelope } from './customers-page.ts'

export type RefusalContext = {
  url: Address
  place: string
  /** What is known of the service's clock, and by how much the signature was corrected. */
  clock: Pick<Clock, 'serviceNowMs' | 'offsetMs'>
  correctionMs: number
  /** Never quoted, even if the service does: key, secret, signature. */
  secrets: readonly string[]
  settings: { quotesAnswers?: boolean | undefined; organization?: string | undefined }
}

/** What an answer other than 200 means. The status decides, whatever the body is. */
export function refusalOf(answer: Answer, context: RefusalContext) {
  const { status } = answer
  if (status === 429) return rateLimited(answer, context)
  if (status >= 500 || status === 408 || status === 425) return unavailable(answer, context)
  if (status >= 300 && status < 400 && status !== 304) return redirected(answer, context)
  const advice = ADVICE[status]
  if (advice?.code === undefined) {
    const { text = 'Check baseUrl.' } = advice ?? {}
    const message = `${context.place} answered ${status}, which this service is not known to use. ${text}`
    return new ContractBroken(message, { code: 'bad-answer' })
  }
  const [form, doubt] = beginningOf(answer).trimStart().startsWith('<')
    ? [' with HTML instead of JSON', ` ${MAYBE_PROXY}`]
    : ['', '']
  const { code, text = unauthorizedAdvice(context) } = advice
  const message = `${context.place} answered ${status}${form}${saidBy(answer, context)}. ${text}${doubt}`
  return new SourceRefused(message, { code, status })
}

const ADVICE: Readonly<Record<number, { code?: SourceRefused['code']; text?: string }>> = {
  400: {
    code: 'unprocessable',
    text: 'The service rejects the request as malformed. Check baseUrl, pageSize and the signing headers.',
  },
  401: { code: 'unauthorized' },
  403: {
    code: 'forbidden',
    text: 'The plan or the key of this organization does not permit listing customers. Ask the service to permit it.',
  },
  404: { code: 'not-found', text: 'There is no customer list at this address. Check baseUrl; it ends in /api/v1.' },
  416: { code: 'unprocessable', text: 'The service has no such page. Lower pageSize.' },
  422: { code: 'unprocessable', text: 'The service does not accept this page size. Lower pageSize.' },
  // None of our requests is conditional, and none is for a proxy.
  304: { text: 'A cache or proxy in between is at fault: have it pass these requests through.' },
  407: {
    text: 'A proxy in between asks for credentials: have it let these requests pass without, since Customer Mirror has none for a proxy.',
  },
}

/** A service may refuse in HTML, and every proxy and firewall does. */
const MAYBE_PROXY = 'If a proxy or a firewall in between answered this, have it let these requests pass.'

function unauthorizedAdvice(context: RefusalContext): string {
  const { clock, correctionMs, settings } = context
  const { organization = '<organization>' } = settings
  const { offsetMs: clockOffsetMs } = clock
  const check = `Check the API key, the secret and the signing recipe; 'customer-mirror signing explain ${organization}' shows what is signed.`
  if (clockOffsetMs === undefined || !isNotable(clockOffsetMs)) return check
  const offset = `The clock of this machine is about ${Math.abs(Math.round(clockOffsetMs / 1000))} s ${clockOffsetMs > 0 ? 'behind' : 'ahead of'} the service's`
  if (isNotable(clockOffsetMs - correctionMs))
    return `${offset}: set it, then try again. Signatures are corrected by at most 24 hours.`
  return `${offset}, but signing with the corrected time was refused too. ${check}`
}

function rateLimited(answer: Answer, context: RefusalContext): RateLimited {
  const waitMs = retryAfterMs(answer.headers, context.clock.serviceNowMs)
  const wait = waitMs === undefined ? 'without naming a time' : `asking to wait ${Math.ceil(waitMs / 1000)} s`
  const message = `${context.place} answered 429${saidBy(answer, context)}, ${wait}. Ask again after that; a lower requestsPerMinute avoids it.`
  return new RateLimited(message, { code: 'rate-limited', status: 429, waitMs })
}

function unavailable({ status, headers }: Answer, context: RefusalContext): SourceUnavailable {
  const waitMs = status === 503 ? retryAfterMs(headers, context.clock.serviceNowMs) : undefined
  const wait = waitMs === undefined ? '' : `, asking to wait ${Math.ceil(waitMs / 1000)} s`
  // The body is not quoted: a failing service, or one in debug mode, may put anything there.
  const message = `${context.place} answered ${status}${wait}. Ask again later.`
  return new SourceUnavailable(message, { code: 'server-error', status, waitMs })
}

function redirected({ status, headers }: Answer, context: RefusalContext): ContractBroken {
  const { place, url, secrets } = context
  const location = headerOf(headers, 'location')
  const host = location === undefined ? '' : (URL.parse(location, url.href)?.host ?? '')
  const where = host === '' || !mayRepeat(context) ? '' : ` ("${scrubbed(host, secrets)}")`
  const message =
    `${place} answered ${status}, a redirect${where}, which is never followed. ` +
    'Check baseUrl: its scheme, host and path must be the final ones. Where it leads to a login page, check the API key too.'
  return new ContractBroken(message, { code: 'bad-answer' })
}

/** Whether what the service says may be repeated, though it may hold a value of a customer. */
const mayRepeat = ({ settings }: RefusalContext) => settings.quotesAnswers !== false

function saidBy(answer: Answer, context: RefusalContext): string {
  return mayRepeat(context) ? quoted(beginningOf(answer), context.secrets) : ''
}

function beginningOf({ body }: Answer): string {
  return new TextDecoder().decode(body).slice(0, 2048)
}

/** What the service said, as ` (code: "message")` or empty: two fields of its envelope, at most 60 and 200 characters, no secret or person. */
export function quoted(text: string, secrets: readonly string[]): string {
  const { error, message } = errorEnvelope.safeParse(parsedJson(text)).data ?? {}
  const code = error !== undefined && /^[\w.-]{1,60}$/.test(error) ? scrubbed(error, secrets) : ''
  const said = message === undefined ? '' : scrubbed(message, secrets)
  if (said === '') return code === '' ? '' : ` (${code})`
  return code === '' ? ` ("${said}")` : ` (${code}: "${said}")`
}

const LONGEST_QUOTE = 200

/** Masked before it is cut, so that no half of a secret is left at the end; in capitals and as in an address too. */
function scrubbed(text: string, secrets: readonly string[]): string {
  const masked = secrets
    .flatMap((secret) => (secret === '' ? [] : [secret, encodeURIComponent(secret.toWellFormed())]))
    .toSorted((a, b) => b.length - a.length)
    .map((secret) => new RegExp(secret.replaceAll(/\W/g, String.raw`\$&`), 'gi'))
    .reduce((rest, secret) => rest.replaceAll(secret, MASK), text)
    .replace(EMAIL, MASK)
    .replace(TOKEN_LIKE, MASK)
    .replace(/[\p{C}\p{Z}\s]+/gu, ' ')
    .trim()
  return masked.length <= LONGEST_QUOTE ? masked : `${masked.slice(0, LONGEST_QUOTE - 1).toWellFormed()}…`
}

const MASK = '[…]'
const EMAIL = /[^\s@"'<>]{1,64}@[^\s@"'<>]{1,255}/g
/** Signatures, identifiers and keys: services like to say which one they expected. */
const TOKEN_LIKE = /(?=[\w+/=-]*\d)[\w+/=-]{20,}/g
