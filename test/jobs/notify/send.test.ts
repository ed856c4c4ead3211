import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { send, webhookHeaders } from '../../../jobs/notify/notifier.ts'

/** A receiver that does this with each connection once a request has come. */
async function aReceiverThat(answers: (socket: Socket) => void): Promise<URL> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}))
    socket.once('data', () => answers(socket))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening on a port')
  return new URL(`http://127.0.0.1:${address.port}/t0ken`)
}

const running = new AbortController().signal

test.each([
  ['an answer without end', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n', true, 'status 200'],
  [
    'a redirect',
    'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n',
    false,
    'status 302',
  ],
  ['no HTTP at all', 'hello\r\n\r\n', false, 'HTTPParserError'],
])('%s does not hold it up', async (_what, answer, isTaken, said) => {
  const url = await aReceiverThat((socket) => socket.write(answer))

  expect(await send(url, { body: '{}', signal: running })).toEqual({ isTaken, answer: said })
})

test.each(['http:', 'https:'])('a receiver that never answers does not hold up a stop: %s', async (protocol) => {
  const stopping = new AbortController()
  const url = await aReceiverThat(() => stopping.abort())

  const sent = await send(new URL(url.href.replace('http:', protocol)), { body: '{}', signal: stopping.signal })
  expect(sent).toEqual({ isTaken: false, answer: 'AbortError' })
})

test('a message is signed as Standard Webhooks have it: the vector of their libraries', () => {
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' }
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

  expect(webhookHeaders(message, { unixSeconds: 1614265330, secret })).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

test('without a secret there is no signature', () => {
  expect(webhookHeaders({ id: 'a', body: '{}' }, { unixSeconds: 1, secret: undefined })).toEqual({
    'webhook-id': 'a',
    'webhook-timestamp': '1',
  })
})
