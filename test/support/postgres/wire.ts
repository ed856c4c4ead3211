import type { Socket } from 'node:net'

/** The numbers with which a client asks for encryption (TLS, GSSAPI), or that a statement is cancelled. */
const ENCRYPTIONS = new Set([80_877_103, 80_877_104])
const CANCEL = 80_877_102

/** What a server answers when a client introduces itself: any user is let in. */
export const STARTED = Buffer.concat([
  message('R', int32(0)),
  ...Object.entries({ server_version: '17.5', client_encoding: 'UTF8', standard_conforming_strings: 'on' }).map(
    ([name, value]) => message('S', Buffer.from(`${name}\0${value}\0`)),
  ),
  message('K', Buffer.concat([int32(1), int32(1)])),
  message('Z', Buffer.from('I')),
])

/** The messages of a client of PostgreSQL; `start` for the one in which it introduces itself. Ends where the client says goodbye. */
export async function* frontendMessages(socket: Socket): AsyncGenerator<'start' | Uint8Array> {
  let [rest, isStarted] = [Buffer.alloc(0), false]
  for await (const chunk of socket) {
    rest = Buffer.concat([rest, chunk])
    for (;;) {
      const headed = isStarted ? 1 : 0
      if (rest.length < headed + 4) break
      const length = headed + rest.readInt32BE(headed)
      if (rest.length < length) break
      const whole = Uint8Array.from(rest.subarray(0, length))
      const code = isStarted ? undefined : rest.readInt32BE(4)
      rest = rest.subarray(length)
      if (code === CANCEL || whole[0] === 0x58) return
      if (code !== undefined && ENCRYPTIONS.has(code)) {
        socket.write('N')
        continue
      }
      yield isStarted ? whole : 'start'
      isStarted = true
    }
  }
}

function message(type: string, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(type), int32(content.length + 4), content])
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
