import { namedConfig, namedMirror } from '../command.ts'
import { Option } from '@commander-js/extra-typings'
import { UsageError } from '../../errors/errors.ts'
import { isTerminal, screenOf } from '../io.ts'
import type { Layout } from '../output/rows.ts'
import { jsonDocument } from '../output/say.ts'

/** What the commands share that read a mirror or a copy: which file to read, and how to write its rows. */
export type ReadingOptions = { config?: string; mirror?: string; json?: true; csv?: true; jsonl?: true }

/** `--mirror`: another file than the one of the configuration. */
export function mirrorOption() {
  return new Option('--mirror <file>', 'a mirror, or a published copy of one, in place of that of the configuration')
}

/** The layout that the options ask for: a table unless they name another one. */
export function layoutOf(
  { json, csv, jsonl }: ReadingOptions,
  { list, stdout, ...table }: { list: string; nothing: string; none?: string; stdout: NodeJS.WritableStream },
): Layout {
  if (csv) return { format: 'csv', isForTerminal: isTerminal(stdout) }
  if (jsonl) return { format: 'jsonl' }
  if (json) {
    const [before = '', after = ''] = jsonDocument({ [list]: [] }).split(']')
    return { format: 'json', before, after: `]${after}` }
  }
  const screen = screenOf(stdout)
  return { format: 'table', ...table, ...(screen !== undefined && { screen: { columns: screen.columns } }) }
}

type ToRead = {
  /** A mirror or a copy; or the address of a mirror in PostgreSQL, which may hold a password. */
  file: string
  /** Organizations of the configuration, which may be asked for although the mirror does not know them yet. */
  configured: readonly string[]
  /** The configuration that was read; undefined where none was. */
  configuration: string | undefined
}

/** The file to read: the one named, or the mirror of the configuration. */
export async function fileToRead({ config: file, mirror }: ReadingOptions): Promise<ToRead> {
  if (mirror?.trim() === '') throw new UsageError('--mirror is empty: name a mirror, or a copy of one')
  if (mirror !== undefined && file !== undefined)
    throw new UsageError('--mirror names the file itself, and --config a configuration that names it. Use one of them.')
  if (mirror !== undefined) return { file: namedMirror(mirror), configured: [], configuration: undefined }
  const config = await namedConfig(file, 'a mirror or a copy of one with --mirror')
  return { file: config.mirror, configured: config.organizations.map(({ id }) => id), configuration: config.file }
}
