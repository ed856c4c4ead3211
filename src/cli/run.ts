import { Command } from '@commander-js/extra-typings'
import type { Io } from './io.ts'

/** `customer-mirror run`: asks the worker for a run now. */
export function runCommand(io: Io) {
  return new Command('run')
    .description('ask the worker to mirror organizations now')
    .argument('<organization...>', 'ids of organizations')
    .option('-c, --config <file>', 'configuration file')
    .addHelpText('after', EXAMPLES)
    .action(async (ids, { config: file }) => {
      const [{ readConfig }, { chooseOrganizations }, { requestRuns }] = await Promise.all([
        import('../config/read-config.ts'),
        import('../config/organization.ts'),
        import('../../jobs/run/run-now.ts'),
      ])
      const config = await readConfig({ file, cwd: process.cwd() })
      const organizations = chooseOrganizations(config, ids).map(({ id }) => id)
      for (const { organization, added, state } of await requestRuns(config, organizations))
        io.stdout.write(`${organization}: ${added ? 'queued' : (STATES[state] ?? `has a job already (${state})`)}\n`)
    })
}

const STATES: Readonly<Record<string, string>> = {
  active: 'is being mirrored at this moment',
  waiting: 'is queued already',
  delayed: 'has a job that waits for the service or for its next attempt; nothing was added',
}

const EXAMPLES = `
A worker that uses the same queue takes the job; \`customer-mirror runs\` shows the result.

Examples:
  $ customer-mirror run acme
  $ customer-mirror run acme globex --config /etc/customer-mirror.yaml
`
