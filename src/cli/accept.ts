import { Command } from '@commander-js/extra-typings'
import type { ShapeChange } from '../model/run.ts'
import { namedConfig } from './arguments.ts'
import type { Io } from './io.ts'
import { say, jsonDocument } from './output/say.ts'
import { shapeWords } from '../status/proof-words.ts'
import { withMirrorToChange } from './with-mirror.ts'

/** `customer-mirror accept`: takes the new shape of an organization's data. */
export function acceptCommand(io: Io) {
  return new Command('accept')
    .description('accept that fields have changed, and store them as they come')
    .argument('<organization>', 'id of the organization')
    .option('-c, --config <file>', 'configuration file')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (organization, { config: file, json }) => {
      const config = await namedConfig(file)
      const changes = await withMirrorToChange(config, (mirror) => mirror.acceptShape(organization, Date.now()))
      if (json) io.stdout.write(jsonDocument({ organization, accepted: changes }))
      else say(io.stdout, `${organization}: accepted. The next run stores what it receives:\n${changesText(changes)}`)
    })
}

function changesText(changes: readonly ShapeChange[]): string {
  return changes.map((change) => `  ${shapeWords(change)}\n`).join('')
}

const EXAMPLES = `
A service may rename a field, or send it in another form: then it comes empty for many customers at once, or their records are rejected.
The run keeps what is stored and says shape-changed, until the service is repaired or you accept the data as it comes:
'customer-mirror runs show' names the fields.

Examples:
  $ customer-mirror accept acme
      the next run of acme empties these fields; customers with rejected records keep their last good values
  $ customer-mirror accept acme --json
      the fields that were accepted, as one JSON document
`
