import { UsageError } from '../errors.ts'

/** Which page to ask for, and how many customers it should hold. Both from 1 up. */
export type Window = { page: number; size: number }

/** What to ask the list for: a page of all of it, or of those customers that match a search. */
export type Question = Window & { search?: string | undefined }

/** The address of one page: the configured base address, never a link, with its query sorted and encoded as it is signed. */
export function customersUrl(baseUrl: URL, { page, size, search }: Question): URL {
  const url = new URL(baseUrl.origin)
  url.pathname = `${baseUrl.pathname.replace(/\/+$/, '')}/customers`
  const paging = { page: String(page), per_page: String(size) }
  url.search = canonicalQuery(search === undefined ? paging : { ...paging, search })
  return url
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

/** A request as messages name it: where it went and for which page, and nothing that could be secret. */
export function placeOf(baseUrl: URL, { page, size }: Window): string {
  const { origin, pathname } = customersUrl(baseUrl, { page, size })
  return `GET ${origin}${pathname} (page ${page}, per_page ${size})`
}

/** Throws unless the address is https, or http to this very machine: a signed request in the clear could be replayed. */
export function refuseOpenWire(baseUrl: URL): void {
  if (baseUrl.protocol === 'https:') return
  if (baseUrl.protocol === 'http:' && isLoopback(baseUrl.hostname)) return
  throw new UsageError(
    `The base address ${baseUrl.origin}${baseUrl.pathname} must be https; http is only for a service on this machine.`,
  )
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}
