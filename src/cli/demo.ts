import { Command } from '@commander-js/extra-typings'
import type { Io } from './io.ts'

/** `customer-mirror demo`: the whole thing against a sandbox on this machine, in under a minute. */
export function demoCommand(io: Io) {
  return new Command('demo')
    .description('mirror three made-up organizations from a sandbox, twice')
    .option('--folder <folder>', 'where the mirror and its configuration go', 'data/demo')
    .addHelpText('after', EXAMPLES)
    .action(async ({ folder }) => {
      const { runDemo } = await import('./run-demo.ts')
      await runDemo(folder, io)
    })
}

const EXAMPLES = `
Examples:
  $ customer-mirror demo
  $ customer-mirror demo --folder trial
`
