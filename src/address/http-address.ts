/**
 * The URL of a text that is written exactly as one of http or https is. The parser alone takes white space, backslashes and missing slashes
 * too.
 */
function exactUrl(text: string): URL | undefined {
  if (!/^https?:\/\/[^\s\\/]/i.test(text) || /[\s\\]/.test(text)) return undefined
  return URL.parse(text) ?? undefined
}

function holdsCredentials({ username, password }: URL): boolean {
  return username !== '' || password !== ''
}

/** Whether others on the way can read what is sent there: without TLS, and not to this machine. */
function isInTheClear(url: URL): boolean {
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

type HttpsForm = {
  example: string
  /** Where a user name and a password belong instead, if anywhere. */
  credentials?: string
  /** What follows the sentence that an address without TLS is refused. */
  clear?: string
}

/** An https address, or one of http on this machine, without a name or password in it; else a sentence about its mistake. */
export function httpsAddress(text: string, { example, credentials = '', clear = '' }: HttpsForm) {
  const url = exactUrl(text)
  if (url === undefined) return { problem: `must be an https URL such as ${example}` }
  if (holdsCredentials(url)) return { problem: `must not hold a user name or password${credentials}` }
  return isInTheClear(url)
    ? { problem: `must be an https URL (plain http is accepted for this machine only)${clear}` }
    : url
}
