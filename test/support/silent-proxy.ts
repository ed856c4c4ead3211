import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A way to a server of this machine. */
type SilentProxy = {
  port: number
  /** From now on nothing comes through on the connections that there are, and neither end gets to know. New ones work. */
  silence(): void
}

/** Passes connections on to a port of this machine, until the test ends. */
export async function aSilentProxy(to: number): Promise<SilentProxy> {
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1')
    near.pipe(far).pipe(near)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one)
      one
        .on('error', () => {})
        .on('close', () => {
          open.delete(one)
          other.destroy()
        })
    }
  })
  return {
    port: await listenHere(server, open),
    silence: () => {
      for (const socket of open) socket.unpipe().resume()
    },
  }
}

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
