import { Argument, Command } from '@commander-js/extra-typings'
import { readFile } from 'node:fs/promises'
import type { Io } from './io.ts'

/**
 * `customer-mirror completion`: a script with which a shell completes commands, options and organizations. The script asks the
 * program at each completion, so that it knows the commands that are installed and the organizations of the configuration.
 */
export function completionCommand({ stdout }: Io) {
  return new Command('completion')
    .description('print the script with which a shell completes commands, options and organizations')
    .addArgument(new Argument('<shell>', 'name of the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', EXAMPLES)
    .action(async (shell) => {
      stdout.write(await readFile(new URL(`completion/customer-mirror.${shell}`, import.meta.url), 'utf8'))
    })
}

const EXAMPLES = `
Examples:
  $ customer-mirror completion bash
      for every new shell, add to ~/.bashrc:
        source <(customer-mirror completion bash)
  $ customer-mirror completion zsh
      the same in ~/.zshrc, after compinit:
        source <(customer-mirror completion zsh)
  $ customer-mirror completion fish > ~/.config/fish/completions/customer-mirror.fish
`
