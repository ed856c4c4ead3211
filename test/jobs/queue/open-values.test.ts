import { createServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { askQueue } from '../../../jobs/queue/backend.ts'
import { openRedis } from '../../../jobs/queue/redis.ts'
import { listenHere } from '../../support/listen-here.ts'

test('a command waits for a server that answers nothing no longer than asked, and hardly for the end of its connection', async () => {
  const address = await aMuteServer()
  const waits = waitsFromNowOn(/\/(ioredis|jobs\/queue)\//)

  expect(await askQueue(`redis://${address}`, 300, ({ values }) => values.list(''))).toBeUndefined()
  await setImmediate()

  // The program ends with the last of them.
  expect(waits).not.toEqual([])
  expect(Math.max(...waits)).toBeLessThanOrEqual(300)
})

test('a command that opens a queue in Redis waits no longer for the end of its connection either', async () => {
  const address = await aMuteServer()
  const waits = waitsFromNowOn(/\/(ioredis|jobs\/queue)\//)
  const opening = { connectMs: 300, answerMs: 300, prefix: 'mute' }

  await expect(openRedis(`redis://${address}`, opening)).rejects.toThrow('no answer within 0.3 s')
  expect(Math.max(...waits)).toBeLessThanOrEqual(300)
})

/** For how long code in these files waits, in milliseconds. Other test files of this process may have left timers that go on. */
function waitsFromNowOn(files: RegExp): number[] {
  const waits: number[] = []
  const wait = globalThis.setTimeout
  const waiting = vi.spyOn(globalThis, 'setTimeout').mockImplementation((work, ms, ...args) => {
    if (files.test(new Error('here').stack ?? '')) waits.push(ms ?? 0)
    return wait(work, ms, ...args)
  })
  onTestFinished(() => waiting.mockRestore())
  return waits
}

/** Accepts connections, answers nothing on them, and does not close them either. */
async function aMuteServer(): Promise<string> {
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket)
    socket.on('error', () => {}).resume()
  })
  return `127.0.0.1:${await listenHere(server, open)}`
}
