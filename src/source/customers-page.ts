import { z } from 'zod'
import { isLoopback } from '../address/http-address.ts'
import { ContractBroken, SourceRefused, UsageError } from '../errors/errors.ts'
import type { AnsweredWindow, Window } from '../model/page.ts'
import { isMapping } from '../text/parsed-json.ts'
import { type Answer, decodedText, tooLarge } from './connection.ts'
import { cutPage, cutRecords, type CutRecords } from './cut-page.ts'

/** One page of the list. Its records are parsed when they are asked for, and are not validated one by one. */
export type CustomersPage = Pick<AnsweredWindow, 'page' | 'total' | 'beyondEnd'> & {
  /** The page size in effect: smaller than asked where the service caps it. Window numbers are multiples of this one. */
  size: number
  /** Parses its records. Throws ContractBroken where the bytes are no list of at most `size` records. */
  records: () => readonly unknown[]
  /** Cuts its records apart without parsing them, where that can be done; there are at most `size`. */
  cut?: (() => CutRecords | undefined) | undefined
  /** Decoded bytes of the answer. */
  bytes: number
  /** Releases the memory its bytes are counted for. To be called when its records are saved, or not needed. */
  release?: (() => void) | undefined
  /** The error that a 404 is if the list does not end there after all. */
  refusal?: SourceRefused | undefined
}

/** Whether an answer is a page, or says by a 404 that the list ends before it. */
export function holdsPage({ status }: Answer, { page }: Question): boolean {
  return status === 200 || (status === 404 && page > 1)
}

/** The page in such an answer. Throws `ContractBroken` for a 200 that is not this page: it is never "no customers". */
export function pageIn({ status, body }: Answer, asked: Question, place: string): CustomersPage {
  if (status === 404) return missingPage(asked, place)
  if (mayHoldTooMany(body)) throw tooLarge(place, 'may hold more than a million values')
  const whole = () => envelopeIn(decodedText(body, place), place)
  const cut = cutPage(body)
  const outline = cut && listEnvelope.safeParse(cut.envelope).data
  const { data, meta } = outline ?? whole()
  const { per_page: size, total } = meta
  if (meta.current_page !== asked.page) {
    throw broken(place, `page ${meta.current_page} was answered instead`)
  }
  if (size < 1 || size > asked.size) throw broken(place, `meta.per_page is ${size}`, ONE_SIZE)
  const parsed = outline === undefined ? atMost(size, data, place) : undefined
  // No other page shows what stands before the first. Services count from 0, from 1, or anew on each page: only more than 1 says that rows do.
  const from = asked.page === 1 && parsed?.length !== 0 ? (meta.from ?? 0) : 0
  if (from > 1) throw broken(place, `meta.from says that page 1 begins at position ${from} of the list`)
  return {
    page: asked.page,
    size,
    records: () => parsed ?? atMost(size, whole().data, place),
    cut: outline && cut && (() => cutRecords(cut.records, size)),
    total,
    bytes: body.byteLength,
    beyondEnd: parsed?.length === 0 && isPastEnd(meta),
  }
}

/** No page of a hundred customers comes near. As objects and arrays, values take a hundred times their bytes. */
const MOST_VALUES = 1_000_000

/** Whether so many commas and brackets are in a body. Each of them, with what belongs to it, has two bytes or more. */
function mayHoldTooMany(body: Buffer): boolean {
  if (body.length <= MOST_VALUES) return false
  let values = 0
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at]
    if ((byte === COMMA || byte === BRACKET || byte === BRACE) && (values += 1) > MOST_VALUES) return true
  }
  return false
}

const [COMMA, BRACKET, BRACE] = Buffer.from(',[{')

function atMost(size: number, records: readonly unknown[], place: string): readonly unknown[] {
  if (records.length <= size) return records
  throw broken(place, `${records.length} records came in a page of ${size}`, ONE_SIZE)
}

function broken(place: string, what: string, advice = ''): ContractBroken {
  const message = `${place}: ${what}. No row of that page is kept. Look for a cache or a proxy in between.${advice}`
  return new ContractBroken(message, { code: 'page-mismatch' })
}

/** A scan that proves something asks for several sizes: a service that has only one cannot be read by it. */
export const ONE_SIZE =
  ' If the service serves only one page size, `scan: plain` with that as pageSize reads it, without a proof.'

/** The page for a 404: some services answer so past the end of the list. */
function missingPage(asked: Window, place: string): CustomersPage {
  const message =
    `${place} answered 404, although the list does not end before that page. The rows read before are kept. ` +
    'Sync again; if it happens again, ask the service why it does not serve that page.'
  return {
    page: asked.page,
    size: asked.size,
    records: () => [],
    total: undefined,
    bytes: 0,
    beyondEnd: true,
    refusal: new SourceRefused(message, { code: 'not-found', status: 404 }),
  }
}

/** Page 1 is never past the end, not even in an empty list. Without a total, an empty page is the only sign. */
function isPastEnd({ current_page: page, per_page: size, total, last_page: lastPage }: ListEnvelope['meta']): boolean {
  if (page === 1) return false
  if (total !== undefined) return (page - 1) * size >= total
  return lastPage === undefined || page > lastPage
}

function envelopeIn(text: string, place: string): ListEnvelope {
  const envelope = listEnvelope.safeParse(jsonIn(text, place))
  if (envelope.success) return envelope.data
  const message = `${place}: the answer is not the documented list: ${envelopeProblem(envelope.error)}. Check baseUrl; it ends in /api/v1.`
  throw new ContractBroken(message, { code: 'bad-answer' })
}

function jsonIn(text: string, place: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message quotes what it read, which may be a customer, so it is not kept as a cause.
    throw new ContractBroken(`${place} answered ${nature(text)} with status 200. Check baseUrl, or try again later.`, {
      code: 'bad-answer',
    })
  }
}

function nature(text: string): string {
  const start = text.trimStart()
  if (start === '') return 'an empty body'
  if (start.startsWith('<')) return 'HTML instead of JSON'
  return /^[[{]/.test(start) ? 'JSON that is cut off or malformed' : 'something other than JSON'
}

const digits = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number)

const WHOLE = 'must be a whole number'
const count = z.union([z.int().nonnegative(WHOLE), digits], WHOLE)
/** Where two envelopes were merged into one, each number stands there twice. */
const pair = z.tuple([count, count]).refine(([one, other]) => one === other)
const integer = z.union([count, pair.transform(([one]) => one)], WHOLE)

/** Some services write an array with holes as an object of integer keys, in order. Every own key is checked, `__proto__` too: no record is lost. */
const holed = z
  .custom<Readonly<Record<string, unknown>>>(
    (value) => isMapping(value) && Object.keys(value).every((key) => /^(0|[1-9]\d{0,8})$/.test(key)),
  )
  .transform((rows): unknown[] => Object.values(rows))

/** The documented envelope of a list. The records are validated elsewhere. Links are ignored: they are never followed. */
const listEnvelope = z.object({
  success: z.literal(true, { error: 'must be true' }),
  data: z.union([z.array(z.unknown()), holed], { error: 'must be a list' }),
  meta: z.object(
    {
      current_page: integer,
      per_page: integer,
      total: integer.optional(),
      last_page: integer.optional(),
      from: integer.nullish(),
      to: integer.nullish(),
    },
    { error: 'must be an object' },
  ),
})

/** The documented envelope of an error, as far as a message may use it. */
export const errorEnvelope = z.object({
  success: z.literal(false).optional(),
  error: z.string().optional().catch(undefined),
  message: z.string().optional().catch(undefined),
})

type ListEnvelope = z.output<typeof listEnvelope>

/** The first thing wrong with an envelope, as `meta.per_page must be a whole number`. Never quotes a value. */
function envelopeProblem(error: z.ZodError): string {
  const issue = error.issues[0]
  // Only documented names: a service may send any other key.
  const path = issue?.path.filter((key) => typeof key === 'string') ?? []
  return path.length === 0 ? 'it is not an object' : `${path.slice(0, 2).join('.')} ${issue?.message ?? 'is wrong'}`
}

/** The documented maximum of `per_page`. */
export const LARGEST_SIZE = 100

/** A request to the list: a page of all customers, or of those that match a search. */
export type Question = Window & { search?: string | undefined }

export type Address = Readonly<Pick<URL, 'href' | 'origin' | 'host' | 'pathname' | 'search'>>

/** The address of one page: the configured base address, never a link, with its query sorted and encoded as it is signed. */
export function customersUrl({ origin, host, pathname: base }: Address, { page, size, search: text }: Question) {
  const pathname = `${base.replace(/\/+$/, '')}/customers`
  const searched = text === undefined ? '' : `&search=${encode(text)}`
  const search = `?page=${page}&per_page=${size}${searched}`
  // Put together, since all parts are encoded already: to parse them takes longer than to sign them.
  return { href: origin + pathname + search, origin, host, pathname, search }
}

/** A request as messages name it: its address and its page, and nothing that could be secret. */
export function placeOf({ origin, pathname }: Address, { page, size }: Window): string {
  return `GET ${origin}${pathname} (page ${page}, per_page ${size})`
}

/** Everything but the unreserved characters of RFC 3986 percent-encoded. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Throws unless the address is https, or http to this machine: a signed request without encryption could be replayed. */
export function refuseUnencrypted(baseUrl: URL): void {
  if (baseUrl.protocol === 'https:' || (baseUrl.protocol === 'http:' && isLoopback(baseUrl))) return
  throw new UsageError(
    `The base address ${baseUrl.origin}${baseUrl.pathname} must be https; http is only for a service on this machine.`,
  )
}
