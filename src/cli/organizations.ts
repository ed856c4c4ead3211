import { Command } from '@commander-js/extra-typings'
import type { Io } from './io.ts'
import { organizationsForgetCommand } from './organizations/organizations-forget.ts'
import { organizationsListCommand } from './organizations/organizations-list.ts'
import { organizationsRenameCommand } from './organizations/organizations-rename.ts'
import { organizationsRetireCommand } from './organizations/organizations-retire.ts'

/** `customer-mirror organizations`: lists the organizations of the mirror, and lets them change. */
export function organizationsCommand(io: Io) {
  return new Command('organizations')
    .description('list, rename, retire or forget organizations of the mirror')
    .option('-c, --config <file>', 'configuration file')
    .option('--mirror <file>', 'with list: a mirror, or a published copy of one, in place of that of the configuration')
    .option('--json', 'print one JSON document')
    .enablePositionalOptions()
    .addCommand(organizationsListCommand(io), { isDefault: true })
    .addCommand(organizationsRenameCommand(io))
    .addCommand(organizationsRetireCommand(io))
    .addCommand(organizationsForgetCommand(io))
    .addHelpText('after', EXAMPLES)
}

const EXAMPLES = `
Examples:
  $ customer-mirror organizations
      every organization of the configuration and of the mirror
  $ customer-mirror organizations rename acme acme-eu
      give an organization another id, and keep all that is known of it
  $ customer-mirror organizations retire acme
      mark its customers as removed, and raise no alert about it
  $ customer-mirror organizations forget acme --yes
      delete everything of it
`
