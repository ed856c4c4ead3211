import { isLoopback } from '../address/http-address.ts'
import { UsageError } from '../errors/errors.ts'

/** Which page to ask for, and how many customers it should hold. Both from 1 up. */
export type Window = { page: number; size: number }

/** The documented maximum of `per_page`. */
export const LARGEST_SIZE = 100

/** A request to the list: a page of all customers, or of those that match a search. */
export type Question = Window & { search?: string | undefined }

/** The address of one page: the configured base address, never a link, with its query sorted and encoded as it is signed. */
export function customersUrl(baseUrl: URL, { page, size, search }: Question): URL {
  const url = new URL(`${baseUrl.origin}${baseUrl.pathname.replace(/\/+$/, '')}/customers`)
  url.search = canonicalQuery({ page: String(page), per_page: String(size), ...(search !== undefined && { search }) })
  return url
}

/** A request as messages name it: its address and its page, and nothing that could be secret. */
export function placeOf({ origin, pathname }: URL, { page, size }: Window): string {
  return `GET ${origin}${pathname} (page ${page}, per_page ${size})`
}

/** Keys in order, everything but the unreserved characters of RFC 3986 percent-encoded. */
export function canonicalQuery(parameters: Readonly<Record<string, string>>): string {
  return Object.keys(parameters)
    .toSorted()
    .map((key) => `${encode(key)}=${encode(parameters[key] ?? '')}`)
    .join('&')
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Throws unless the address is https, or http to this machine: a signed request without encryption could be replayed. */
export function refuseUnencrypted(baseUrl: URL): void {
  if (baseUrl.protocol === 'https:') return
  if (baseUrl.protocol === 'http:' && isLoopback(baseUrl)) return
  throw new UsageError(
    `The base address ${baseUrl.origin}${baseUrl.pathname} must be https; http is only for a service on this machine.`,
  )
}

/** Some services answer a page number they cannot read with page 1, so none is ever sent. */
export function refuseImpossible({ page, size }: Window): void {
  for (const number of [page, size]) {
    if (!Number.isSafeInteger(number) || number < 1)
      throw new RangeError('page and size must be whole numbers from 1 up')
  }
}
