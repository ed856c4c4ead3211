import { command, type Io, port } from './command.ts'
import { namedConfig, namedMirror } from './opening.ts'
import { monotonicMs } from '../machine/timers.ts'
import { once } from 'node:events'
import { readReaders } from '../config/credentials.ts'
import { listen, UNREADABLE } from '../http/server.ts'
import { createLog } from '../machine/log.ts'
import { createServe } from '../serve/serve.ts'
import { serveMirror } from '../serve/served-mirror.ts'
import { errorEnvelope } from '../service/answer.ts'

export function serveCommand({ signal, stderr }: Io) {
  return command('serve', {
    serve: 'the readers of the configuration (serve.readers) find the list at http://127.0.0.1:4020/api/v1/customers',
    'serve --mirror copies/customers.db --port 8080': 'the same from a published copy',
    about:
      'Requests are signed as those to the service are, with the key and the secret of a reader. /openapi.json describes the answers.',
  })
    .option('--host <address>', 'address to listen at', '127.0.0.1')
    .option('--port <number>', 'port to listen at; 0 takes any free one', port, 4020)
    .option('--mirror <file>', 'a published copy, in place of the mirror of the configuration')
    .action(async ({ config: file, mirror: named, host, port: at }) => {
      const config = await namedConfig(file)
      const readers = await readReaders(config)
      const log = createLog({ level: 'info', stream: stderr })
      const mirror = serveMirror(named === undefined ? config.mirror : namedMirror(named))
      const organizations = config.organizations.map(({ id }) => id)
      const app = createServe({ readers, organizations, mirror, log, nowMs: Date.now, monotonicMs })
      // Requests that are under way when the server is stopped have five seconds.
      const { origin, close } = await listen(app, { host, port: at, graceMs: 5000 }, errorEnvelope(400, UNREADABLE))
      log.info({ origin, readers: readers.map(({ name }) => name) }, 'serving')
      if (!signal.aborted) await once(signal, 'abort')
      await close()
      await mirror.close()
    })
}
