import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** A request as a receiver got it. */
type Received = { method: string; path: string; headers: IncomingHttpHeaders; body: string }

/** In the place of a status: the request gets no answer. */
export const NEVER = 0

/** A server that keeps what it gets, and answers with these statuses in turn; the last one answers everything after it. */
export type Receiver = { url: string; received: Received[]; statuses: number[] }

export async function aReceiver(...statuses: [number, ...number[]]): Promise<Receiver> {
  const receiver: Receiver = { url: '', received: [], statuses }
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method = '', url: path = '', headers } = request
      receiver.received.push({ method, path, headers, body })
      const status = receiver.statuses.length > 1 ? receiver.statuses.shift() : receiver.statuses[0]
      if (status !== NEVER)
        response.writeHead(status ?? 200, { Location: '/elsewhere' }).end('a long answer'.repeat(1000))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening on a port')
  receiver.url = `http://127.0.0.1:${address.port}`
  return receiver
}
