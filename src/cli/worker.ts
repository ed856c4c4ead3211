import { Option } from '@commander-js/extra-typings'
import { UsageError } from '../errors/errors.ts'
import { command, wholeNumber } from './command.ts'
import type { Io } from './io.ts'

/** `customer-mirror worker`: mirrors every organization on its schedule, until it is stopped. */
export function workerCommand(io: Io) {
  return command('worker', EXAMPLES)
    .option('--embedded', 'keep the queue in a folder beside the mirror, for a single worker')
    .option('--host <address>', 'address to serve the page, /healthz, /readyz and /metrics at', '127.0.0.1')
    .option(
      '--port <number>',
      'port to serve them at; 0 takes any free one',
      wholeNumber({ least: 0, most: 65_535 }),
      4011,
    )
    .option('--allow-host <name...>', 'more names under which clients may ask, besides addresses and localhost')
    .addOption(
      new Option('--log-level <level>', 'what to log').choices(['debug', 'info', 'warn', 'error']).default('info'),
    )
    .action(async ({ config: file, embedded = false, host, port, allowHost, logLevel }) => {
      const odd = allowHost?.find((name) => !HOST_NAME.test(name))
      if (odd !== undefined)
        throw new UsageError(`--allow-host ${odd}: this is no name of a host. Write it without a port.`)
      const { runWorker } = await import('../../jobs/worker.ts')
      await runWorker({ config: file, embedded, http: { host, port, names: allowHost ?? [] }, logLevel }, io).finally(
        () => io.endSoon?.(),
      )
    })
}

const HOST_NAME = /^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?$/

const EXAMPLES = `
The worker serves a page to look at, /healthz, /readyz and /metrics.

Examples:
  $ customer-mirror worker
      run with the queue of the configuration; several workers may run at the same time
  $ customer-mirror worker --host 0.0.0.0 --allow-host worker.internal
      let others in the network reach the page and the metrics, also by this name
  $ customer-mirror worker --embedded
      with no server installed
`
