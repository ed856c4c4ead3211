import { exactUrl, holdsCredentials, isInTheClear } from '../../address/http-address.ts'

/**
 * The address above `/customers`: https, or http on this machine; nothing but origin and path, without a slash at the end. Else a
 * sentence about its mistake, which never repeats the text: that may hold credentials.
 */
export function parseBaseUrl(text: string): URL | { problem: string } {
  const url = exactUrl(text)
  if (url === undefined) return { problem: NO_ADDRESS }
  if (holdsCredentials(url))
    return { problem: 'must not hold a user name or password: credentials belong in apiKey and secret' }
  if (text.includes('?') || text.includes('#'))
    return { problem: 'must end with the path: remove the ? or # and what follows' }
  if (isInTheClear(url))
    return {
      problem: 'must be an https URL (plain http is accepted for this machine only, e.g. http://127.0.0.1:8080)',
    }
  url.pathname = url.pathname.replace(/\/+$/, '')
  if (/\/customers$/i.test(url.pathname))
    return { problem: 'must be the address above /customers: remove /customers from the end' }
  return url
}

const NO_ADDRESS = 'must be an https URL such as https://acme.orders.example.com/api/v1'
