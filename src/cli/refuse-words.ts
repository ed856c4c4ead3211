import type { Command } from '@commander-js/extra-typings'
import { nearest } from '../config/checks/suggestion.ts'

/** Refuses what was written after a group of commands whose `list` is the default: an unknown command is parsed as an argument of it. */
export function refuseWords(
  list: Pick<Command, 'args' | 'error'> & { parent: Pick<Command, 'args' | 'error'> | null },
  commands: readonly string[],
): void {
  const [word, ...others] = list.args
  if (word === undefined) return
  if (list.parent?.args[0] === 'list') list.error("error: too many arguments for 'list'. It takes none.")
  const meant = nearest(word, commands)
  const hint =
    meant === undefined ? `There are ${commands.join(', ')}.` : `Did you mean ${[meant, ...others].join(' ')}?`
  ;(list.parent ?? list).error(`error: unknown command '${word}'\n(${hint})`)
}
