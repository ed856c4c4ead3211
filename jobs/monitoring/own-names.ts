import { isIP } from 'node:net'
import type { MiddlewareHandler } from 'hono'
import { withoutBrackets } from '../../src/address/http-address.ts'

/**
 * Answers only requests that name this server: by an address of any kind, as localhost, or by one of `names`. A page from elsewhere
 * that has its own name lead to this machine (DNS rebinding) has a browser ask under that name, and gets nothing. An address is no
 * such name: it leads where it says.
 */
export function answerOnlyTo(names: readonly string[]): MiddlewareHandler {
  const own = new Set(['localhost', ...names.map((name) => name.toLowerCase().replace(/\.$/, ''))])
  return async (context, next) => {
    const host = context.req.header('Host') ?? ''
    // No browser asks without a name. Monitors do, by HTTP/1.0.
    if (host === '') return next()
    const name = nameIn(host)
    if (name !== undefined && (isIP(name) !== 0 || name.endsWith('.localhost') || own.has(name))) return next()
    return context.json({ error: NOT_OURS }, 421)
  }
}

const NOT_OURS =
  'This worker does not answer to the name in the address. Use its IP address or localhost, or start it with ' +
  '--allow-host and that name.'

/** The name or address in a Host header, without its port; undefined where it is none. */
function nameIn(host: string): string | undefined {
  if (/[/?#@\\\s]/.test(host) || !URL.canParse(`http://${host}`)) return undefined
  return withoutBrackets(new URL(`http://${host}`).hostname).replace(/\.$/, '')
}
