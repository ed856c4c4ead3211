import { Command } from '@commander-js/extra-typings'
import type { Io } from './io.ts'

/** `customer-mirror schema`: the JSON Schema of the configuration file, on stdout. */
export function schemaCommand({ stdout }: Io): Command {
  return new Command('schema')
    .description('print the JSON Schema of the configuration file, for editors')
    .addHelpText(
      'after',
      `
Examples:
  $ customer-mirror schema > customer-mirror.schema.json
  $ customer-mirror schema | jq '.properties | keys'
`,
    )
    .action(async () => {
      const { configJsonSchema } = await import('../config/schema.ts')
      stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`)
    })
}
