import { shapeWords } from '../status/proof-words.ts'
import { command, JSON_OPTION, show, withMirrorToChange } from './command.ts'
import type { Io } from './io.ts'

/** `customer-mirror accept`: takes the new shape of an organization's data. */
export function acceptCommand(io: Io) {
  return command('accept', 'accept that fields have changed, and store them as they come', EXAMPLES)
    .argument('<organization>', 'id of the organization')
    .option(...JSON_OPTION)
    .action(async (organization, { config: file, json }) => {
      const accepted = await withMirrorToChange(file, (mirror) => mirror.acceptShape(organization, Date.now()))
      const fields = accepted.map((change) => `  ${shapeWords(change)}\n`).join('')
      const text = `${organization}: accepted. The next run stores what it receives:\n${fields}`
      show(io, json, { document: { organization, accepted }, text })
    })
}

const EXAMPLES = `
A service may rename a field, or send it in another form: then it comes empty for many customers at once, or their records are rejected. The run keeps what is stored and says shape-changed, until the service is repaired or you accept the data as it comes: 'customer-mirror runs show' names the fields.

Examples:
  $ customer-mirror accept acme
      the next run of acme empties these fields; customers with rejected records keep their last good values
  $ customer-mirror accept acme --json
      the fields that were accepted, as one JSON document
`
