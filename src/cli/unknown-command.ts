import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { nearest } from '../config/suggestion.ts'

/** A command that deletes or replaces what the mirror holds. No misspelt word is taken for it. */
export class DestructiveCommand extends Command {}

/**
 * The words for Commander. Where one is in the place of a command and names none, it is refused, with the command that was probably meant.
 * `help --help` and `help help` become `help`, also behind a command such as `signing`: Commander would look for commands of these names.
 */
export function requireKnownCommand(args: readonly string[], root: CommandUnknownOpts): readonly string[] {
  const named = root.commands.find((command) => command.name() === args[0])
  const group = named ?? root
  const place = named === undefined ? 0 : 1
  const [word, asked] = args.slice(place)
  // Behind any other command, a word is an argument.
  if (word === undefined || !isGroup(group)) return args
  if (word !== 'help' || asked === undefined) requireCommand(word, group)
  else if (['-h', '--help', 'help'].includes(asked)) return args.slice(0, place + 1)
  else requireCommand(asked, group)
  return args
}

function isGroup({ commands, registeredArguments }: CommandUnknownOpts): boolean {
  return commands.length > 0 && registeredArguments.length === 0
}

function requireCommand(word: string, group: CommandUnknownOpts): void {
  const commands = group.createHelp().visibleCommands(group)
  if (word.startsWith('-') || commands.some((command) => command.name() === word)) return
  const harmless = commands.filter((command) => !(command instanceof DestructiveCommand))
  const meant = nearest(
    word,
    harmless.map((command) => command.name()),
  )
  const names = commands.map((command) => command.name()).filter((name) => name !== 'help')
  const all = group.parent === null ? '' : `\n(There are ${names.join(', ')}.)`
  group.error(`error: unknown command '${word}'${meant === undefined ? all : `\n(Did you mean ${meant}?)`}`)
}
