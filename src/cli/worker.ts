import { command, type Io, oneOf, port } from './command.ts'
import { UsageError } from '../errors/errors.ts'

export function workerCommand(io: Io) {
  return command('worker', {
    about: 'The worker serves a page to look at, /healthz, /readyz and /metrics.',
    worker: 'run with the queue of the configuration; several workers may run at the same time',
    'worker --host 0.0.0.0 --allow-host worker.internal': 'let others reach it, also by this name',
    'worker --embedded': 'with no server installed',
  })
    .option('--embedded', 'keep the queue in a folder beside the mirror, for a single worker')
    .option('--host <address>', 'address to serve the page, /healthz, /readyz and /metrics at', '127.0.0.1')
    .option('--port <number>', 'port to serve them at; 0 takes any free one', port, 4011)
    .option('--allow-host <name...>', 'more names under which clients may ask, besides addresses and localhost')
    .option('--log-level <level>', 'what to log', oneOf('debug', 'info', 'warn', 'error'), 'info')
    .action(async ({ config: file, embedded = false, host, port: at, allowHost, logLevel }) => {
      const odd = allowHost?.find((name) => !HOST_NAME.test(name))
      if (odd !== undefined)
        throw new UsageError(`--allow-host ${odd}: this is no name of a host. Write it without a port.`)
      const { runWorker } = await import('../../jobs/worker.ts')
      const http = { host, port: at, names: allowHost ?? [] }
      // The file is read anyway when it changes: SIGHUP only must not end the process.
      io.ignoreHangUp?.()
      await runWorker({ config: file, embedded, http, logLevel }, io).finally(() => io.endSoon?.())
    })
}

const HOST_NAME = /^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?$/
