import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings'

/** A word that may stand at the cursor, and what it means. */
type Suggestion = { word: string; about: string }

/** What may stand at the cursor: one of these words, any file, or an organization, with `before` before its id (`--org=`). */
export type Suggestions =
  | { kind: 'words'; words: Suggestion[] }
  | { kind: 'files' }
  | { kind: 'organizations'; of: Whose; config: string | undefined; given: string[]; before: string }

/** Organizations of the configuration, of the mirror, or of the mirror alone. */
export type Whose = 'configuration' | 'mirror' | 'left'

/** What may follow on a command line. Its last word is the one at the cursor, complete, begun or empty. */
export function suggest(root: CommandUnknownOpts, line: readonly string[]): Suggestions {
  const words = withoutEqualSigns(line)
  const current = words.pop() ?? ''
  const place = walk(root, words)
  if (place.waiting !== undefined) return valuesOf(place.waiting, place, '')
  const [, name = '', value] = /^(--[^=]+)=(.*)$/s.exec(current) ?? []
  const option = value === undefined ? undefined : optionNamed(place.command, name)
  if (option !== undefined) return valuesOf(option, place, `${name}=`)
  if (current.startsWith('-') && !place.endOfOptions) return optionsAt(place)
  return argumentsAt(place)
}

/** Where the cursor is: behind which command, which of its arguments, which of its options, and the value of which one. */
type Place = {
  command: CommandUnknownOpts
  given: string[]
  used: Set<Option>
  waiting: Option | undefined
  endOfOptions: boolean
  config: string | undefined
}

function walk(root: CommandUnknownOpts, words: readonly string[]): Place {
  const place: Place = {
    command: root,
    given: [],
    used: new Set(),
    waiting: undefined,
    endOfOptions: false,
    config: undefined,
  }
  for (const word of words) step(place, word)
  return place
}

function step(place: Place, word: string): void {
  if (place.waiting !== undefined) {
    if (place.waiting.long === '--config') place.config = word
    place.waiting = undefined
  } else if (word === '--' && !place.endOfOptions) {
    place.endOfOptions = true
  } else if (word.startsWith('-') && !place.endOfOptions) {
    const [name = '', ...value] = word.split('=')
    const option = optionNamed(place.command, name)
    if (option === undefined) return
    place.used.add(option)
    if (option.long === '--config' && value.length > 0) place.config = value.join('=')
    if (option.required && value.length === 0) place.waiting = option
  } else {
    const inner = place.given.length > 0 ? undefined : place.command.commands.find((command) => command.name() === word)
    if (inner === undefined) place.given.push(word)
    else Object.assign(place, { command: inner, used: new Set() })
  }
}

/** Bash takes the sign between an option and its value for a word. */
function withoutEqualSigns(line: readonly string[]): string[] {
  return line
    .map((word, index) => (word === '=' && index === line.length - 1 ? '' : word))
    .filter((word, index) => word !== '=' || !(line[index - 1] ?? '').startsWith('--'))
}

function optionNamed(command: CommandUnknownOpts, name: string): Option | undefined {
  return optionsOf(command).find(({ long, short }) => long === name || short === name)
}

/** With `--help`, which Commander adds. */
function optionsOf(command: CommandUnknownOpts): Option[] {
  return command.createHelp().visibleOptions(command)
}

function optionsAt({ command, used }: Place): Suggestions {
  const words = optionsOf(command)
    .filter((option) => option.variadic || !used.has(option))
    .map(({ long, short, description }) => ({ word: long ?? short ?? '', about: description }))
  return { kind: 'words', words }
}

function valuesOf(option: Option, place: Place, before: string): Suggestions {
  const name = /[<[](\w+)/.exec(option.flags)?.[1] ?? ''
  return named(name, option.argChoices, place, before)
}

function argumentsAt(place: Place): Suggestions {
  const { command, given } = place
  const isHelp = given.length === 1 && given[0] === 'help'
  if (command.commands.length > 0 && (given.length === 0 || isHelp))
    return { kind: 'words', words: commandsOf(command) }
  const { registeredArguments } = command
  const last = registeredArguments.at(-1)
  const argument = registeredArguments[given.length] ?? (last?.variadic === true ? last : undefined)
  return named(argument?.name() ?? '', argument?.argChoices, place, '')
}

function commandsOf(command: CommandUnknownOpts): Suggestion[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((inner) => inner.name() !== 'complete')
    .map((inner) => ({ word: inner.name(), about: inner.description() }))
}

/** What a value may be, by the name that help gives it. */
function named(name: string, choices: readonly string[] | undefined, place: Place, before: string): Suggestions {
  if (choices !== undefined)
    return { kind: 'words', words: choices.map((choice) => ({ word: before + choice, about: '' })) }
  if (name === 'file' || name === 'folder') return { kind: 'files' }
  if (name === 'organization')
    return { kind: 'organizations', of: whose(place.command), config: place.config, given: place.given, before }
  return { kind: 'words', words: [] }
}

/** An organization is retired or forgotten only after it was taken out of the configuration. */
function whose(command: CommandUnknownOpts): Whose {
  if (command.parent?.name() !== 'organizations') return 'configuration'
  return command.name() === 'rename' ? 'mirror' : 'left'
}
