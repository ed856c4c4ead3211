import { Command } from '@commander-js/extra-typings'
import { monotonicMs } from '../../machine/monotonic-clock.ts'
import { optionsToChange, requireLeft, requireMirrored, withOrganizations } from './change-organizations.ts'
import type { Io } from '../io.ts'
import { say } from '../output/say.ts'
import { jsonDocument } from '../output/json-document.ts'

/** `customer-mirror organizations retire`: marks the customers of an organization as removed. */
export function organizationsRetireCommand(io: Io) {
  return new Command('retire')
    .description('mark all customers of an organization that is no longer configured as removed')
    .argument('<organization>', 'its id; the configuration must not name it any more')
    .option('-c, --config <file>', 'configuration file')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (id, own, command) => {
      const { config: file, json } = { ...own, ...optionsToChange(command) }
      const { count } = await import('../output/wording.ts')
      const { removed } = await withOrganizations(file, async (organizations, config) => {
        await requireMirrored(
          id,
          organizations,
          config,
          'There is nothing to retire: take it out of the configuration.',
        )
        requireLeft(id, config, 'end the retirement')
        return organizations.retire(id, { nowMs: Date.now(), monotonicMs: monotonicMs() })
      })
      const said =
        `${id}: retired, ${count(removed, 'customer')} marked as removed. Its rows stay. A worker that runs has to read ` +
        'the configuration first, within two seconds or after a restart: a run of it would end the retirement.\n'
      if (json) io.stdout.write(jsonDocument({ organization: id, retired: true, removed }))
      else say(io.stdout, said)
    })
}

const EXAMPLES = `
Its customers leave active_customers, with a change each, and freshness says since when it is retired. Nothing is deleted. When
it is configured again, its next run ends the retirement, and its customers return.

Examples:
  $ customer-mirror organizations retire acme
  $ customer-mirror organizations retire acme --json
`
