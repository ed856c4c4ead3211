import { once } from 'node:events'
import type { CommandUnknownOpts } from '@commander-js/extra-typings'
import { readReaders } from '../config/readers.ts'
import { listen, UNREADABLE } from '../http/server.ts'
import { createLog } from '../machine/log.ts'
import { monotonicMs } from '../machine/timers.ts'
import { createServe } from '../serve/serve.ts'
import { ServedMirror } from '../serve/served-mirror.ts'
import { errorEnvelope } from '../service/answer.ts'
import { command, namedConfig, namedMirror, wholeNumber } from './command.ts'
import type { Io } from './io.ts'

/** `customer-mirror serve`: answers the requests of readers as the service does, from the mirror, until it is stopped. */
export function serveCommand({ signal, stderr }: Io): CommandUnknownOpts {
  return command('serve', EXAMPLES)
    .option('--host <address>', 'address to listen at', '127.0.0.1')
    .option('--port <number>', 'port to listen at; 0 takes any free one', wholeNumber({ least: 0, most: 65_535 }), 4020)
    .option('--mirror <file>', 'a published copy, in place of the mirror of the configuration')
    .action(async ({ config: file, mirror: named, host, port }) => {
      const config = await namedConfig(file)
      const readers = await readReaders(config)
      const log = createLog({ level: 'info', stream: stderr })
      const mirror = new ServedMirror(named === undefined ? config.mirror : namedMirror(named), monotonicMs)
      const organizations = config.organizations.map(({ id }) => id)
      const app = createServe({ readers, organizations, mirror, log, nowMs: Date.now, monotonicMs })
      const { origin, close } = await listen(
        app,
        { host, port, graceMs: LAST_ANSWERS_MS },
        errorEnvelope(400, UNREADABLE),
      )
      log.info({ origin, readers: readers.map(({ name }) => name) }, 'serving')
      try {
        if (!signal.aborted) await once(signal, 'abort')
      } finally {
        await close()
        await mirror.close()
      }
    })
}

/** For requests that are under way when the server is stopped. */
const LAST_ANSWERS_MS = 5000

const EXAMPLES = `
Examples:
  $ customer-mirror serve
      the readers of the configuration (serve.readers) find the list at http://127.0.0.1:4020/api/v1/customers
  $ customer-mirror serve --mirror copies/customers.db --port 8080
      the same from a published copy

Requests are signed as those to the service are, with the key and the secret of a reader. /openapi.json describes the answers.
`
