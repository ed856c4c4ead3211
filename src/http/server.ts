import { getRequestListener } from '@hono/node-server'
import type { MiddlewareHandler, Env, Hono, Handler } from 'hono'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { UsageError } from '../errors/errors.ts'
import { codeOf } from '../errors/faults.ts'

/** A server at its `origin`, without a trailing slash, e.g. `http://127.0.0.1:4010`. `close` ends every connection and frees the port. */
export type Listening = Awaited<ReturnType<typeof listen>>

/** What strangers may take from a server beside other work. Each connection is a file that this process has open, and is for one request. */
type Limits = {
  connections: number
  /** For a request to arrive. */
  requestMs: number
  /** How long a client may read nothing of its answer. */
  silentMs: number
}

/** Where to listen. Without `limits`, clients may have as many connections as they like. At its end, requests under way have `graceMs`. */
type Place = { host: string; port: number; limits?: Limits; graceMs?: number }

/** Serves `app`; port 0 is any free one. An unreadable address is answered 400 with `unreadable`. Throws UsageError where it cannot listen. */
export async function listen(
  app: { fetch: Parameters<typeof getRequestListener>[0] },
  { host, port, limits, graceMs = 0 }: Place,
  unreadable: object = { error: UNREADABLE },
) {
  const errorHandler = () => Response.json(unreadable, { status: 400, headers: UNKEPT })
  // A server inside another program must not replace its global Request and Response; by HTTP/1.0, a request names no host.
  const options = { overrideGlobalObjects: false, errorHandler, hostname: 'localhost' }
  const answer = getRequestListener(app.fetch, options)
  const timeouts = limits && { requestTimeout: limits.requestMs, connectionsCheckingInterval: limits.requestMs / 2 }
  const server = createServer(timeouts ?? {}, (request, response) => void answer(request, response))
  if (limits !== undefined) limit(server, limits)
  try {
    await once(server.listen({ host, port }), 'listening')
  } catch (error) {
    const code = codeOf(error) ?? 'unknown'
    const why = EXPLANATIONS.get(code) ?? `the system answered ${code}.`
    throw new UsageError(`Cannot listen at ${host} port ${port}: ${why}`, { cause: error })
  }
  let closed: Promise<void> | undefined
  return { origin: originOf(server, host), close: () => (closed ??= stop(server, graceMs)) }
}

/** A connection over the limit takes the place of the one that has waited longest without a request, so that idle ones keep no probe out. */
function limit(server: Server, { connections, silentMs }: Limits): void {
  const open = new Set<Socket>()
  const idle = new Set<Socket>()
  server.on('connection', (socket) => {
    for (const sockets of [open, idle]) {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    }
    const [oldest] = idle
    if (open.size > connections) oldest?.destroy()
  })
  server.on('request', ({ socket }) => idle.delete(socket))
  server.setTimeout(silentMs)
  // Node answers all requests that come in one piece, and holds the answers to a client that reads none.
  server.maxRequestsPerSocket = 1
}

function originOf(server: Server, host: string): string {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server listens at no port')
  const name = ANY_ADDRESS.get(host) ?? host
  return `http://${name.includes(':') ? `[${name}]` : name}:${address.port}`
}

export const UNREADABLE = 'The address of the request cannot be read.'

async function stop(server: Server, graceMs: number): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  const answered = setInterval(() => server.closeIdleConnections(), 10)
  const late = setTimeout(() => server.closeAllConnections(), graceMs)
  await closed
  clearInterval(answered)
  clearTimeout(late)
}

const EXPLANATIONS = new Map([
  ['EADDRINUSE', 'the port is in use. Stop the program that uses it, or choose another port (0 takes any free one).'],
  ['EACCES', 'this user may not open that port. Choose one above 1023 (0 takes any free one).'],
  ['EADDRNOTAVAIL', 'this machine has no such address. 127.0.0.1 always works.'],
  ['ENOTFOUND', 'no such host is known. 127.0.0.1 always works.'],
])

/** Addresses that mean every address of the machine, each with one that clients can use. */
const ANY_ADDRESS = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
])

/** Sets our headers before there is an answer: one that is made is made anew for each. */
export const addHeaders: MiddlewareHandler = async (context, next) => {
  for (const [name, value] of Object.entries(UNKEPT)) context.header(name, value)
  await next()
}

/** Browsers must not guess the type, nor show the answer in another page, and caches must not keep it. */
const UNKEPT = { 'X-Content-Type-Options': 'nosniff', 'X-Frame-Options': 'DENY', 'Cache-Control': 'no-store' }

export type Readiness = { ready: boolean; problems: string[] }

/** `/healthz` answers while the process is alive; `/readyz` returns the result of `examine`, with 503 if not ready; ready without one. */
export function addHealth<E extends Env>(app: Hono<E>, examine?: () => Promise<Readiness>): void {
  app.get('/healthz', (context) => context.json({ alive: true }))
  app.get('/readyz', async (context) => {
    const readiness = (await examine?.()) ?? { ready: true, problems: [] }
    return context.json(readiness, readiness.ready ? 200 : 503)
  })
  for (const path of ['/healthz', '/readyz']) app.all(path, onlyReads)
}

/** Refuses every method but GET and HEAD, at an address that answers these: put it behind their handler, for all methods. */
export const onlyReads: Handler = (context) =>
  context.json({ error: `${context.req.path} can be read and nothing else: use GET.` }, 405, { Allow: 'GET, HEAD' })
