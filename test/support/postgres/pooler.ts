import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { STARTED } from './wire.ts'

/** How a pooler such as PgBouncer gives out its connections to the server. */
export type Pooling = {
  /** A connection for each client, or for each transaction. */
  mode: 'session' | 'transaction'
  /** Which of those that are free is given first: the one that was used last, or first. */
  gives?: 'last' | 'first'
  /** The connections that it has to the server at most: further clients wait. */
  size?: number
}

type Pooler = { servers: number; port: number; free: Socket[]; open: Set<Socket>; startup: Buffer } & Required<Pooling>

/** A pooler in front of the server at a port of this machine, until the test ends. It refuses the parameter `options`, as PgBouncer does. */
export async function aPooler(port: number, { mode, gives = 'last', size = Infinity }: Pooling): Promise<number> {
  const pooler: Pooler = { servers: 0, port, free: [], open: new Set(), startup: Buffer.alloc(0), mode, gives, size }
  const listening = createServer((client) => {
    kept(pooler, client).once('data', (first: Buffer) => {
      if (first.includes('\0options\0')) return client.end(REFUSED)
      pooler.startup = first
      serve(pooler, client)
      return client.write(STARTED)
    })
  }).listen(0, '127.0.0.1')
  await once(listening, 'listening')
  onTestFinished(() => {
    listening.close()
    for (const socket of pooler.open) socket.destroy()
  })
  const at = listening.address()
  if (at === null || typeof at === 'string') throw new Error('no port')
  return at.port
}

/** Passes on what a client sends, in order, to the connection that it holds. */
function serve(pooler: Pooler, client: Socket): void {
  let held: Promise<Socket> | undefined
  const giveBack = (server: Socket) => {
    held = undefined
    server.removeAllListeners('data')
    pooler.free.push(server)
  }
  const hold = async () => {
    if (pooler.free.length === 0 && pooler.servers >= pooler.size) await new Promise(() => {})
    const server = (pooler.gives === 'last' ? pooler.free.pop() : pooler.free.shift()) ?? (await aServer(pooler))
    server.on('data', (answer: Buffer) => {
      if (pooler.mode === 'transaction' && answer.subarray(-READY.length).equals(READY)) giveBack(server)
      client.write(answer)
    })
    return server
  }
  client.on('data', (sent: Buffer) => {
    if (sent[0] === GOODBYE) return
    void (held ??= hold()).then((server) => server.write(sent))
  })
  client.on('close', () => void held?.then((server) => server.destroy()))
}

async function aServer(pooler: Pooler): Promise<Socket> {
  const { port, startup } = pooler
  pooler.servers += 1
  const server = kept(pooler, connect(port, '127.0.0.1'))
  server.write(startup)
  for (;;) {
    const [answer]: Buffer[] = await once(server, 'data')
    if (answer?.subarray(-READY.length).equals(READY) === true) return server
  }
}

function kept({ open }: Pick<Pooler, 'open'>, socket: Socket): Socket {
  open.add(socket)
  return socket.on('error', () => {}).on('close', () => open.delete(socket))
}

/** The server waits for a statement, outside a transaction. */
const READY = Buffer.from('Z\0\0\0\u0005I', 'latin1')
const GOODBYE = 'X'.charCodeAt(0)

const SAID = Buffer.from('SFATAL\0C08P01\0Munsupported startup parameter: options\0\0', 'latin1')
const REFUSED = Buffer.concat([Buffer.from('E'), Buffer.from([0, 0, 0, SAID.length + 4]), SAID])
