import { Command } from '@commander-js/extra-typings'
import { UsageError } from '../errors/errors.ts'
import { durationArgument } from './arguments/duration-argument.ts'
import type { Io } from './io.ts'
import { namedConfig } from './arguments/named-config.ts'
import { say } from './output/say.ts'

/** `customer-mirror run`: asks the worker for a run now. */
export function runCommand(io: Io) {
  return new Command('run')
    .description('ask the worker to mirror organizations now')
    .argument('<organization...>', 'ids of organizations')
    .option('-c, --config <file>', 'configuration file')
    .option('--quick', 'ask for a quick run: who came and who left, in a few requests')
    .option('--now', 'also start a job that waits for its next attempt, unless the service said when')
    .option('--wait', 'wait until the jobs have ended, and show their runs, with the exit codes of sync')
    .option('--timeout <time>', 'with --wait: stop waiting after so long, and end with 5: 90s, 30m, 2h', TIMEOUT)
    .addHelpText('after', EXAMPLES)
    .action(async (ids, { wait = false, timeout, ...options }) => {
      if (timeout !== undefined && !wait)
        throw new UsageError('--timeout is for --wait. Nothing was requested. Add --wait, or leave --timeout out.')
      const [config, { chooseOrganizations }, { requestedText, requestedCode }] = await Promise.all([
        namedConfig(options.config),
        import('../config/organization.ts'),
        import('./output/requested-text.ts'),
      ])
      const organizations = chooseOrganizations(config, ids)
      if (wait) {
        const { waitForRuns } = await import('./run-wait.ts')
        return await waitForRuns(
          { ...options, config, configFile: options.config, organizations, timeoutMs: timeout },
          io,
        )
      }
      const { requestRuns } = await import('../../jobs/commands/run-now.ts')
      const requested = await requestRuns(
        config,
        organizations.map(({ id }) => id),
        { ...options, clock: Date.now },
      )
      say(io.stdout, requestedText(requested, options))
      io.exitWith(requestedCode(requested))
    })
}

const TIMEOUT = durationArgument({ most: '20d', examples: '90s, 30m or 2h' })

const EXAMPLES = `
A worker that uses the same queue takes the job; 'customer-mirror runs' shows the result, and 'customer-mirror cancel' ends it.

Examples:
  $ customer-mirror run acme
  $ customer-mirror run acme globex --config /etc/customer-mirror.yaml
  $ customer-mirror run acme --quick
      who came and who left since the list was last read, in a few requests
  $ customer-mirror run acme --now
      the service is repaired: start the job that waits for its next attempt
  $ customer-mirror run acme --wait --timeout 2h
      wait for the end, in a script
`
