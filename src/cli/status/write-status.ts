import { readFileSync, statSync } from 'node:fs'
import type { Config } from '../../config/read-config.ts'
import { UsageError } from '../../errors/errors.ts'
import type { Pauses } from '../../pause.ts'
import type { Mirror } from '../../store.ts'
import type { Io } from '../io.ts'
import { absolutePath } from '../arguments.ts'

/** A kind of file that `status` writes, and writes again. */
type OwnFile = {
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

/** What the configuration, the queue and the clock say. */
export type StatusFacts = { config: Config; pauses: Pauses | undefined; nowMs: number }

/**
 * Writes a form of the status to standard output, which `-` names, or as a whole file in place of the one from before. Throws
 * UsageError and ExportFailed for a bad target, such as a file that this program did not write, and then leaves it as it was.
 */
export async function writeStatus(
  file: string,
  { stdout }: Io,
  { file: mirror }: Mirror,
  { kind, text }: { kind: OwnFile; text: () => Promise<string> },
): Promise<void> {
  if (file === '-') return void stdout.write(await text())
  const { writeFileWhole } = await import('../../reading/files/write-file.ts')
  if (file.trim() === '') throw new UsageError(kind.whenUnnamed)
  const { example, mode } = kind
  const mayReplace = (place: string) => throwIfForeign(place, kind)
  writeFileWhole(absolutePath(file), await text(), { mirror, example, mayReplace, ...(mode !== undefined && { mode }) })
}

function throwIfForeign(file: string, { beginning, whenForeign }: OwnFile): void {
  const isThere = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0
  if (isThere && !readFileSync(file, 'utf8').startsWith(beginning)) throw new UsageError(`${file}: ${whenForeign}`)
}
