/** Whether a host, as a URL has it, is this machine: localhost, 127.0.0.0/8 or ::1. */
export function isLoopback({ hostname }: Pick<URL, 'hostname'>): boolean {
  return /^(?:localhost|\[?::1\]?|127\.\d+\.\d+\.\d+)$/.test(hostname)
}

/** The host of a URL, in which an IPv6 address stands in brackets. */
export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}

/** An https address, or one of http on this machine, without a name or password in it; else a sentence about its mistake. */
export function httpsAddress(text: string, example: string): URL | { problem: string } {
  // Written as one: the parser alone takes white space, backslashes and missing slashes too.
  const url = /^https?:\/\/[^\s\\/][^\s\\]*$/i.test(text) ? URL.parse(text) : null
  if (url === null) return { problem: `must be an https URL such as ${example}` }
  if (url.username !== '' || url.password !== '') return { problem: 'must not hold a user name or password' }
  // Without TLS, others on the way could read what is sent.
  if (url.protocol === 'https:' || isLoopback(url)) return url
  return { problem: 'must be an https URL (plain http is accepted for this machine only)' }
}
