import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { homedir } from 'node:os'
import { isPostgres } from '../address/mirror-address.ts'
import type { Io } from './io.ts'
import { suggest, type Suggestions, type Whose } from './suggest.ts'

/** The line that asks the shell for the names of files. No word begins like it. */
export const FILES = ':files'

/**
 * `customer-mirror complete`, which the completion of a shell calls and help does not list: what may stand at the cursor, a
 * line each, with a tab before what it means. It prints no error, since that would stand in the middle of a command line.
 */
export function completeCommand(io: Io, loadOthers: (firstWord?: string) => Promise<CommandUnknownOpts[]>) {
  const command = new Command('complete').argument('[words...]', 'the words up to the one at the cursor')
  return command.helpOption(false).action(async (words) => {
    const root: CommandUnknownOpts = command.parent ?? command
    // Behind the name of a command only that one matters, and loading it alone takes half the time.
    const [first = '', ...more] = words
    const others = await loadOthers(more.length > 0 && first !== command.name() ? first : undefined)
    for (const other of others) root.addCommand(other)
    io.stdout.write((await linesOf(suggest(root, words))).map((line) => `${line}\n`).join(''))
  })
}

async function linesOf(found: Suggestions): Promise<string[]> {
  if (found.kind === 'files') return [FILES]
  if (found.kind === 'words') return found.words.map(({ word, about }) => `${word}\t${about}`)
  const ids = await idsOf(found.of, expanded(found.config))
  return ids.filter((id) => !found.given.includes(id)).map((id) => `${found.before}${id}\torganization`)
}

async function idsOf(whose: Whose, file: string | undefined): Promise<string[]> {
  const [{ listOrganizationIds }, { ORGANIZATION_ID }] = await Promise.all([
    import('../config/file/list-ids.ts'),
    import('../config/values/organization-id.ts'),
  ])
  const { ids, mirror } = await listOrganizationIds({ file, cwd: process.cwd() })
  // A server would keep the shell waiting.
  if (whose === 'configuration' || mirror === undefined || isPostgres(mirror)) return ids
  const { listNamesInMirror } = await import('../reading/organizations/mirrored-organizations.ts')
  // They are printed on a terminal, and any program may have written into the file.
  const names = listNamesInMirror(mirror).filter((name) => ORGANIZATION_ID.test(name))
  return whose === 'mirror' ? names : names.filter((name) => !ids.includes(name))
}

/** A shell that completes a line has not expanded what was typed. */
function expanded(path: string | undefined): string | undefined {
  return path?.replace(/^~(?=\/)/, homedir())
}
