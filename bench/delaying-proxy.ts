import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import * as z from 'zod'

/** A process between a program and a server on this machine, which passes everything on a while after it came, in both directions. */
const { port, delayMs } = z.object({ port: z.number(), delayMs: z.number() }).parse(JSON.parse(process.argv[2] ?? ''))

const proxy = createServer({ noDelay: true }, (near) => {
  const far = connect({ host: '127.0.0.1', port, noDelay: true })
  passOn(near, far)
  passOn(far, near)
})
proxy.listen(0, '127.0.0.1')
await once(proxy, 'listening')
// An address of a port, since it listens on none of a file.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
process.stdout.write(`${JSON.stringify({ port: (proxy.address() as AddressInfo).port })}\n`)
// It ends with the process that started it.
process.stdin.on('end', () => process.exit()).resume()

/** In order: timers of one duration fire in the order in which they were set. */
function passOn(from: Socket, to: Socket): void {
  from.on('data', (bytes) => setTimeout(() => to.write(bytes), delayMs))
  from.on('close', () => setTimeout(() => to.destroy(), delayMs))
  from.on('error', () => to.destroy())
}
