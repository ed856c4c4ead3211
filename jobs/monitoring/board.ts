import { createHash, timingSafeEqual } from 'node:crypto'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { HonoAdapter } from '@bull-board/hono'
import { serveStatic } from '@hono/node-server/serve-static'
import { Queue } from 'bullmq'
import { Hono } from 'hono'
import { basicAuth } from 'hono/basic-auth'
import type { Queues } from '../queue/queues.ts'

/** Read-only pages of the queues, under `path`, for holders of the token. */
export function createBoard({ all }: Queues, { path, token }: { path: string; token: string }): Hono {
  const adapter = new HonoAdapter(serveStatic)
  adapter.setBasePath(path)
  createBullBoard({
    queues: all.map(lookAt),
    serverAdapter: adapter,
  })
  const board = new Hono()
  // A browser asks for a name and a password; any name is accepted.
  board.use('*', basicAuth({ realm: 'Customer Mirror', verifyUser: (_name, password) => isSame(password, token) }))
  board.route('/', adapter.registerPlugin())
  return board
}

/** The board is written for queues on Redis, but works with the others too. */
function lookAt(queue: unknown): BullMQAdapter {
  if (!(queue instanceof Queue)) throw new TypeError('This is no queue.')
  return new BullMQAdapter(queue, { readOnlyMode: true, allowRetries: false })
}

/** Compares in constant time. */
function isSame(given: string, wanted: string): boolean {
  const [left, right] = [given, wanted].map((text) => createHash('sha256').update(text).digest())
  return left !== undefined && right !== undefined && timingSafeEqual(left, right)
}
