import { connect, createServer, type Socket } from 'node:net'
import { once } from 'node:events'

/** A way to a server on which commits are seen before they get there. */
export type CommitWatch = {
  /** The address of the database by this way. */
  url: string
  /** What happens at the next commits: it may keep them from the server. */
  onCommit: (pass: () => void) => void
  close(): Promise<void>
}

const COMMIT = Buffer.from('COMMIT\0')

/** Opens a port of this machine that leads to the server of `url`. */
export async function watchCommits(url: string): Promise<CommitWatch> {
  const { hostname, port } = new URL(url)
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const toServer = connect(Number(port), hostname)
    for (const socket of [client, toServer]) {
      open.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        client.destroy()
        toServer.destroy()
      })
    }
    toServer.pipe(client)
    client.on('data', (bytes: Buffer) => {
      const pass = () => void toServer.write(bytes)
      if (bytes.includes(COMMIT)) watch.onCommit(pass)
      else pass()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const own = new URL(url)
  own.port = String(typeof address === 'object' && address !== null ? address.port : 0)
  const watch: CommitWatch = {
    url: own.href,
    onCommit: (pass) => pass(),
    close: async () => {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return watch
}
