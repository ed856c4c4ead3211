import { spawnSync } from 'node:child_process'
import type { Block } from './documents.ts'

/** What a page says, in the comment of a command, to readers of a command that no test runs. */
const UNRUN = /# (?:.*[;:,] )?not run by our tests: \S+/

/** The shell commands of a block: those of its lines, of a crontab's entries, of a unit's ExecStart. */
export function commandsIn({ language, text }: Block): string[] {
  if (language === 'crontab') return [...text.matchAll(/^(?:[\d*/,-]+ +){5}(.*)$/gm)].map(([, command = '']) => command)
  if (language === 'ini') return [...text.matchAll(/^ExecStart=(.*)$/gm)].map(([, command = '']) => command)
  return language === 'sh' ? shellCommands(text) : []
}

/** Whether the page says that no test runs this command, and why. */
export function isMarkedUnrun(command: string): boolean {
  return UNRUN.test(command)
}

/** Commands of several lines stay together. */
function shellCommands(text: string): string[] {
  const known = COMMANDS_OF.get(text)
  if (known !== undefined) return known
  const commands: string[] = []
  let open = ''
  for (const line of text.trimEnd().split('\n')) {
    open += open === '' ? line : `\n${line}`
    if (!isWhole(open)) continue
    if (!/^\s*(#|$)/.test(open)) commands.push(open)
    open = ''
  }
  if (open !== '') throw new Error(`No shell can read this: ${open}`)
  COMMANDS_OF.set(text, commands)
  return commands
}

/** The commands of each text that was read before. */
const COMMANDS_OF = new Map<string, string[]>()

/** Whether a shell waits for no further line. It is asked only where a line could leave something open. */
function isWhole(text: string): boolean {
  if (!/["'`(){}<\\]|\b(if|for|while|until|case)\b/.test(text)) return true
  return !text.endsWith('\\') && spawnSync('/bin/sh', ['-n', '-c', text]).status === 0
}
