import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { UsageError } from '../errors.ts'
import type { Mirror } from '../store.ts'

/** A kind of file that `status` writes, and writes again. */
export type OwnFile = {
  /** A name of one, for messages. */
  example: string
  /** How every such file begins. */
  beginning: string
  /** What is wrong with an empty name, and with a file that is there and begins otherwise; the latter follows its name. */
  whenUnnamed: string
  whenForeign: string
  /** Read and written by the owner alone where it is left out. */
  mode?: number
}

/**
 * Writes a file as a whole, in place of the one from before. Throws UsageError and ExportFailed for a bad target, such as a file that
 * this program did not write, and then leaves it as it was.
 */
export async function replaceOwnFile(
  file: string,
  { file: mirror }: Pick<Mirror, 'file'>,
  { kind, text }: { kind: OwnFile; text: () => Promise<string> },
): Promise<void> {
  const { writeFileWhole } = await import('../reading/write-file.ts')
  if (file.trim() === '') throw new UsageError(kind.whenUnnamed)
  const { example, mode } = kind
  const target = /[/\\]$/.test(file) ? `${resolve(file)}/` : resolve(file)
  const mayReplace = (place: string) => throwIfForeign(place, kind)
  writeFileWhole(target, await text(), { mirror, example, mayReplace, ...(mode !== undefined && { mode }) })
}

function throwIfForeign(file: string, { beginning, whenForeign }: OwnFile): void {
  const isThere = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0
  if (isThere && !readFileSync(file, 'utf8').startsWith(beginning)) throw new UsageError(`${file}: ${whenForeign}`)
}
