import { Command } from '@commander-js/extra-typings'
import type { Io } from './io.ts'
import { namedConfig } from './arguments/named-config.ts'
import { say } from './output/say.ts'

/** `customer-mirror resume`: ends the pause of organizations. */
export function resumeCommand(io: Io) {
  return new Command('resume')
    .description('end the pause of organizations; without a name, every pause')
    .argument('[organization...]', 'ids of organizations')
    .option('-c, --config <file>', 'configuration file')
    .addHelpText('after', EXAMPLES)
    .action(async (ids, { config: file }) => {
      const [config, { chooseIds }, { resumedText }] = await Promise.all([
        namedConfig(file),
        import('../config/organization.ts'),
        import('./output/pause-text.ts'),
      ])
      const organizations = chooseIds(config, ids)
      const { resumeOrganizations } = await import('../../jobs/pauses/pause-organizations.ts')
      say(io.stdout, resumedText(await resumeOrganizations(config, organizations, Date.now())))
    })
}

const EXAMPLES = `
A run that was missed meanwhile is made up for at once, one for each organization. An organization that is named is resumed
although all of them are paused; the others stay so.

Examples:
  $ customer-mirror resume acme
  $ customer-mirror resume
      every pause, also those of single organizations
`
