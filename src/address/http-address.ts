/**
 * The URL of a text that is written exactly as one of http or https is. The parser alone takes white space, backslashes and missing slashes
 * too.
 */
export function exactUrl(text: string): URL | undefined {
  if (!/^https?:\/\/[^\s\\/]/i.test(text) || /[\s\\]/.test(text)) return undefined
  return URL.parse(text) ?? undefined
}

export function holdsCredentials({ username, password }: URL): boolean {
  return username !== '' || password !== ''
}

/** Whether others on the way can read what is sent there: without TLS, and not to this machine. */
export function isInTheClear(url: URL): boolean {
  return url.protocol !== 'https:' && !isLoopback(url)
}

/** Whether an address stays on this machine. */
export function isLoopback({ hostname }: URL): boolean {
  return isThisMachine(withoutBrackets(hostname))
}

/** Whether a host is this machine: localhost, 127.0.0.0/8 or ::1. */
export function isThisMachine(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

/** The host of a URL, in which an IPv6 address stands in brackets. */
export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
