import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { connect, createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

type SeenRequest = Pick<IncomingMessage, 'headers' | 'socket'> & {
  method: string
  url: URL
  page: number
  size: number
}

/** Answers one request, as badly as the test wants. */
export type Reply = (response: ServerResponse, request: SeenRequest) => void | Promise<void>

export type FaultServer = {
  origin: string
  baseUrl: URL
  /** Every request in order of arrival, also those that were answered badly or not at all. */
  requests: SeenRequest[]
  mostInFlight: number
}

/** A server of this machine that ends with the test. It plays `replies` in order of arrival; the last one answers everything after it. */
export async function faultServer(...replies: [Reply, ...Reply[]]): Promise<FaultServer> {
  return start(createServer(), 'http', replies)
}

export async function tlsFaultServer(identity: { key: string; cert: string }, ...replies: [Reply, ...Reply[]]) {
  return start(createTlsServer(identity), 'https', replies)
}

async function start(server: Server, scheme: string, replies: readonly Reply[]): Promise<FaultServer> {
  const origin = `${scheme}://127.0.0.1:${await listenHere(server)}`
  const baseUrl = new URL(`${origin}/api/v1`)
  const fault: FaultServer = { origin, baseUrl, requests: [], mostInFlight: 0 }
  let inFlight = 0
  server.on('request', (request, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', origin)
    const { method = '', headers, socket } = request
    const [page, size] = [url.searchParams.get('page'), url.searchParams.get('per_page')].map(Number)
    const seen: SeenRequest = { method, url, headers, socket, page: page ?? 0, size: size ?? 0 }
    const reply = replies[Math.min(fault.requests.length, replies.length - 1)]
    fault.requests.push(seen)
    inFlight += 1
    fault.mostInFlight = Math.max(fault.mostInFlight, inFlight)
    response.once('close', () => (inFlight -= 1))
    // Tests about the service's clock set this header themselves.
    response.sendDate = false
    void reply?.(response, seen)
  })
  return fault
}

type ReplyHeaders = Record<string, string | number | string[]>

export function json(status: number, body: unknown, headers: ReplyHeaders = {}): Reply {
  return bytes(status, JSON.stringify(body), { 'Content-Type': 'application/json', ...headers })
}

export function refusal(status: number, error: string, message: string, headers: ReplyHeaders = {}): Reply {
  return json(status, { success: false, error, message, details: {} }, headers)
}

/** HTML with any status, as a proxy in between would answer. */
export function html(status: number, headers: ReplyHeaders = {}): Reply {
  return bytes(status, `<!doctype html><h1>${status}</h1>`, { 'Content-Type': 'text/html', ...headers })
}

export function bytes(status: number, body: string | Uint8Array, headers: ReplyHeaders = {}): Reply {
  return (response) => {
    response.writeHead(status, { 'Content-Length': Buffer.byteLength(body), ...headers })
    response.end(body)
  }
}

/** A correct answer for a list of `total` made-up customers, with `changes` to its envelope or its `meta`. */
export function list(total: number, changes: { meta?: object; envelope?: object; headers?: ReplyHeaders } = {}): Reply {
  return async (response, request) => {
    const body = envelopeOf(total, request)
    const changed = { ...body, ...changes.envelope, meta: { ...body.meta, ...changes.meta } }
    await json(200, changed, changes.headers)(response, request)
  }
}

/** The answer of `list`: the requested page, of numbered customers. */
export function envelopeOf(total: number, { page, size }: { page: number; size: number }) {
  const from = (page - 1) * size
  const data = Array.from({ length: Math.max(0, Math.min(size, total - from)) }, (_, index) =>
    aRecord(from + index + 1),
  )
  const last_page = Math.max(1, Math.ceil(total / size))
  const range = data.length === 0 ? { from: null, to: null } : { from: from + 1, to: from + data.length }
  return {
    success: true,
    data,
    meta: { current_page: page, per_page: size, total, last_page, ...range },
    links: { first: 'http://forged.example.com/?page=1', last: null, prev: null, next: null },
  }
}

export function aRecord(number: number): { id: string; name: string; email: string } {
  const id = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
  return { id, name: `Customer ${number}`, email: `customer${number}@example.com` }
}

export function hang(): Reply {
  return () => {}
}

/** Announces the whole body, sends `share` of it, and cuts the connection. */
export function cut(body: string | Uint8Array, share = 0.5, headers: ReplyHeaders = {}): Reply {
  return (response) => {
    const whole = Buffer.from(body)
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': whole.byteLength, ...headers })
    response.write(whole.subarray(0, Math.floor(whole.byteLength * share)), () => response.destroy())
  }
}

/** A server that keeps what it gets, and answers with these statuses in turn; the last one answers everything after it. */
export async function aReceiver(...statuses: [number, ...number[]]) {
  const received: (Pick<IncomingMessage, 'headers'> & { method: string; path: string; body: string })[] = []
  const receiver = { url: '', received, statuses }
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method = '', url: path = '', headers } = request
      received.push({ method, path, headers, body })
      const status = receiver.statuses.length > 1 ? receiver.statuses.shift() : receiver.statuses[0]
      response.writeHead(status ?? 200, { Location: '/elsewhere' }).end('a long answer'.repeat(1000))
    })
  })
  receiver.url = `http://127.0.0.1:${await listenHere(server)}`
  return receiver
}

/** Passes connections on to the port `to` of this machine. After `silence()` nothing comes through on those that there are, and no end knows. */
export async function aSilentProxy(to: number) {
  const open = new Set<Socket>()
  const server = createTcpServer((near) => {
    const far = connect(proxy.to, '127.0.0.1')
    near.pipe(far).pipe(near)
    const end = () => {
      for (const socket of [near, far]) open.delete(socket.destroy())
    }
    for (const socket of [near, far]) open.add(socket.on('error', () => {}).on('close', end))
  })
  const silence = () => {
    for (const socket of open) socket.unpipe().resume()
  }
  const proxy = { to, port: await listenHere(server, open), silence }
  return proxy
}

/** Has a server listen at a free port of this machine until the test ends, which ends its `open` connections too. Returns the port. */
export async function listenHere(server: TcpServer, open = new Set<Socket>()): Promise<number> {
  server.on('connection', (socket) => open.add(socket))
  onTestFinished(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const at = server.address()
  if (at === null || typeof at === 'string') throw new Error('not listening on a port')
  return at.port
}
