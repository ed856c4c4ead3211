import { connect, createServer, type Socket } from 'node:net'
import { listenHere } from './listen-here.ts'

/** A way to a server of this machine. */
export type SilentProxy = {
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
