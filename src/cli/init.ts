import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings'
import type { Io } from './io.ts'
import { say } from './output/say.ts'
import { configOption } from './output/wording.ts'

/** `customer-mirror init [file]`: writes a commented starter configuration. Never overwrites a file. */
export function initCommand({ stderr }: Io): CommandUnknownOpts {
  return new Command('init')
    .description('write a commented configuration file to start from; never overwrites')
    .argument('[file]', 'where to write it', 'customer-mirror.yaml')
    .addHelpText(
      'after',
      `
Examples:
  $ customer-mirror init
  $ customer-mirror init config/customers.yaml
`,
    )
    .action(async (file) => {
      const { writeStarterFile } = await import('../config/file/starter-file.ts')
      await writeStarterFile(file)
      const option = configOption(file === 'customer-mirror.yaml' ? undefined : file)
      say(
        stderr,
        `Wrote ${file}. Next:
  1. Put the address of your organization into ${file}.
  2. export ACME_API_KEY=… ACME_SECRET=…
  3. customer-mirror check${option}
`,
      )
    })
}
