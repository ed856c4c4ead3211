import { Command } from '@commander-js/extra-typings'
import type { Io } from './io.ts'

/** `customer-mirror run`: asks the worker for a run now. */
export function runCommand(io: Io) {
  return new Command('run')
    .description('ask the worker to mirror organizations now')
    .argument('<organization...>', 'ids of organizations')
    .option('-c, --config <file>', 'configuration file')
    .option('--quick', 'ask for a quick run: who came and who left, in a few requests')
    .addHelpText('after', EXAMPLES)
    .action(async (ids, { config: file, quick = false }) => {
      const [{ readConfig }, { chooseOrganizations }, { requestRuns }] = await Promise.all([
        import('../config/read-config.ts'),
        import('../config/organization.ts'),
        import('../../jobs/run/run-now.ts'),
      ])
      const config = await readConfig({ file, cwd: process.cwd() })
      const organizations = chooseOrganizations(config, ids).map(({ id }) => id)
      const [queued, states] = quick ? ['quick run queued', QUICK_STATES] : ['queued', STATES]
      for (const { organization, added, state } of await requestRuns(config, organizations, { quick }))
        io.stdout.write(`${organization}: ${added ? queued : (states[state] ?? `has a job already (${state})`)}\n`)
    })
}

const STATES: Readonly<Record<string, string>> = {
  active: 'is being mirrored at this moment',
  waiting: 'is queued already',
  delayed: 'has a job that waits for the service or for its next attempt; nothing was added',
}

const QUICK_STATES: Readonly<Record<string, string>> = {
  active: 'has a quick run at this moment',
  waiting: 'has a quick run in the queue already',
  delayed: 'has a quick run in the queue already, which waits for its moment',
  'full-run': 'its whole list is being read, or is about to be; no quick run was added',
}

const EXAMPLES = `
A worker that uses the same queue takes the job; \`customer-mirror runs\` shows the result.

Examples:
  $ customer-mirror run acme
  $ customer-mirror run acme globex --config /etc/customer-mirror.yaml
  $ customer-mirror run acme --quick
      who came and who left since the list was last read, in a few requests
`
