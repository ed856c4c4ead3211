import { createServer, type Socket } from 'node:net'
import { workerData } from 'node:worker_threads'
import { z } from 'zod'
import { openKeptPglite, sqliteForms } from './server.ts'
import { frontendMessages, STARTED } from './wire.ts'

/*
 * A thread with a PGlite behind a port of this machine, so that drivers and other processes use it like a server. It has one session:
 * transactions wait for each other, and what a session sets for itself is seen by all.
 */

const { state } = z.object({ state: z.instanceof(SharedArrayBuffer) }).parse(workerData)

const database = await openKeptPglite()
await database.exec(sqliteForms())
let last: Promise<void> = Promise.resolve()

const server = createServer((socket) => void serve(socket)).listen(0, '127.0.0.1', () => {
  const address = server.address()
  const cell = new Int32Array(state)
  Atomics.store(cell, 0, typeof address === 'object' && address !== null ? address.port : -1)
  Atomics.notify(cell, 0)
})

/** Answers one connection. From the first message of a transaction to its end no other connection is answered. */
async function serve(socket: Socket): Promise<void> {
  socket.setNoDelay(true)
  let leave: (() => void) | undefined
  try {
    for await (const message of frontendMessages(socket)) {
      if (message === 'start') {
        socket.write(STARTED)
        continue
      }
      leave ??= await enter()
      const answer = await database.execProtocolRaw(message)
      socket.write(answer)
      if (isAtRest(answer)) {
        leave()
        leave = undefined
      }
    }
  } catch {
    // The connection broke.
  } finally {
    if (leave !== undefined) await database.exec('ROLLBACK').then(leave, leave)
    socket.destroy()
  }
}

async function enter(): Promise<() => void> {
  const before = last
  const turn = Promise.withResolvers<void>()
  last = turn.promise
  await before
  return turn.resolve
}

/** Whether the answer ends in ReadyForQuery outside a transaction. */
function isAtRest(answer: Uint8Array): boolean {
  return answer.at(-6) === 0x5a && answer.at(-1) === 0x49
}
