import { PassThrough } from 'node:stream'
import { loadCommands } from '../../src/cli/program.ts'

/** What a command line asks for that the program does not have: a command, an option, a choice. */
export async function notInTheProgram([name = '', ...words]: readonly string[]): Promise<string[]> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const signal = new AbortController().signal
  const commands = await loadCommands(name, { signal, stdout, stderr, exitWith: () => {} })
  const command = commands.find((each) => each.name() === name)
  if (command === undefined) return [name]
  return words.flatMap((word, index) => {
    if (!word.startsWith('-')) return []
    const option = command.options.find(({ long, short }) => [long, short].includes(word))
    const value = words[index + 1] ?? ''
    const isNoChoice = option?.argChoices !== undefined && !option.argChoices.includes(value)
    const lacksValue = option?.required === true && (value === '' || value.startsWith('-'))
    if (option === undefined || isNoChoice || lacksValue) return [`${name} ${word} ${value}`]
    return []
  })
}
