import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import type { MiddlewareHandler } from 'hono'
import { expect, onTestFinished, test } from 'vitest'
import { UsageError } from '../src/errors/errors.ts'
import { listen, UNREADABLE } from '../src/http/server.ts'
import { errorEnvelope } from '../src/service/answer.ts'
import { createService } from '../src/service/app.ts'

const HERE = { host: '127.0.0.1', port: 0 }
const aService = (around?: MiddlewareHandler[]) => createService({ organizations: [], now: Date.now, around })

/** Listens until the test ends; `send` opens a connection, sends a text on it, and ends its half. */
async function listening(
  app: Parameters<typeof listen>[0] = aService(),
  place: Partial<Parameters<typeof listen>[1]> = {},
  unreadable?: object,
) {
  const { origin, close } = await listen(app, { ...HERE, ...place }, unreadable)
  onTestFinished(close)
  const port = Number(new URL(origin).port)
  return { origin, port, send: (written: string) => connect(port, '127.0.0.1').end(written) }
}

test('closing ends a request that is held back, and leaves nothing behind', async () => {
  const hold: MiddlewareHandler = (c) =>
    new Promise((resolve) => c.req.raw.signal.addEventListener('abort', () => resolve()))
  const service = aService([hold])
  const arrived = Promise.withResolvers<{ handled: unknown }>()
  const fetchHeld: typeof service.fetch = (...request) => {
    const handled = service.fetch(...request)
    arrived.resolve({ handled })
    return handled
  }
  const { origin, close } = await listen({ fetch: fetchHeld }, HERE)
  const refused = expect(fetch(`${origin}/api/v1/customers`)).rejects.toThrow('fetch failed')
  const { handled } = await arrived.promise
  await close()
  await refused
  await handled
  await close()
})

test('a port in use, and an address that this machine does not have, are explained', async () => {
  const { port } = await listening()
  const said = `Cannot listen at 127.0.0.1 port ${port}: the port is in use. Stop the program that uses it, or choose another port (0 takes any free one).`
  await expect(listen(aService(), { ...HERE, port })).rejects.toThrow(new UsageError(said))
  await expect(listen(aService(), { ...HERE, host: '192.0.2.1' })).rejects.toThrow('this machine has no such address')
})

test.each(['0.0.0.0', 'localhost'])('a service at %s reports an address for requests', async (host) => {
  const { origin } = await listening(aService(), { host })
  expect((await fetch(origin)).status).toBe(404)
})

test.each([
  ['as the server likes', errorEnvelope(400, UNREADABLE), `"error":"bad_request","message":"${UNREADABLE}"`],
  ['in one sentence', undefined, `{"error":"${UNREADABLE}"}`],
])('a request whose address cannot be read is answered 400, %s', async (_, unreadable, answered) => {
  const { send } = await listening(aService(), {}, unreadable)
  const answer = await text(send('GET /api HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n'))
  expect(answer).toContain('HTTP/1.1 400')
  expect(answer).toContain(answered)
  expect(answer.toLowerCase()).toContain('cache-control: no-store')
})

test('a monitor that asks by HTTP/1.0, without a name, is answered', async () => {
  const { send } = await listening({ fetch: ({ url }: Request) => new Response(url) })

  expect(await text(send('GET /readyz HTTP/1.0\r\n\r\n'))).toMatch(/^HTTP\/1\.1 200 OK[^]*http:\/\/localhost\/readyz$/)
})

const LIMITS = { connections: 2, requestMs: 600_000, silentMs: 600_000 }

test('idle connections, as many as a server takes, do not keep a probe out, and there are never more', async () => {
  const { origin, port } = await listening(aService(), { limits: { ...LIMITS, connections: 200 } })
  let ended = 0
  for (let opened = 0; opened < 200; opened += 1) {
    const idle = connect(port, '127.0.0.1').on('close', () => (ended += 1))
    await once(idle, 'connect')
  }

  expect((await fetch(origin)).status).toBe(404)
  expect(ended).toBe(1)
})

test.each(['', 'GET / HTTP/1.1\r\nHost: '])('a request that stops after %j ends its connection', async (begun) => {
  const { port } = await listening(aService(), { limits: { ...LIMITS, requestMs: 50 } })
  const socket = connect(port, '127.0.0.1')
  socket.write(begun)

  expect(await text(socket)).not.toContain('200 OK')
})

test('a stranger who asks for many answers at once gets one', async () => {
  let asked = 0
  const { port } = await listening({ fetch: () => new Response(`answer ${++asked}`) }, { limits: LIMITS })
  const socket = connect(port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(100))
  const [answer] = await once(socket, 'data')

  expect(String(answer)).toContain('200 OK')
  expect(asked).toBe(1)
})
