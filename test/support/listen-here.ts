import { once } from 'node:events'
import type { Server, Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Has a server listen at a free port of this machine until the test ends, which ends its `open` connections too. Returns the port. */
export async function listenHere(server: Server, open: ReadonlySet<Socket>): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  const at = server.address()
  if (at === null || typeof at === 'string') throw new Error('no port')
  return at.port
}
