import { fchmodSync } from 'node:fs'
import { beginExport, EXPORTING } from '../export/export-file.ts'
import { atPlace } from './copy-error.ts'
import { requireReplaceable } from '../export/export-target.ts'
import { privateName, writeAll } from './placed-file.ts'

type Target = {
  /** The mirror, which is never replaced. */
  mirror: string
  /** The name of a file to propose where a folder was named. */
  example: string
  /** Throws for a file that is there and must stay. */
  mayReplace: (file: string) => void
  /** Who may read it; 0600 unless it says otherwise. */
  mode?: number
}

/** Writes a text as a file, which is there as a whole or not at all. Throws UsageError and ExportFailed for a bad target. */
export function writeFileWhole(
  file: string,
  text: string,
  { mirror, example, mayReplace, mode = 0o600 }: Target,
): void {
  requireReplaceable(file, { mirror, example })
  atPlace(file, () => mayReplace(file))
  const unfinished = beginExport(privateName(file, EXPORTING), file)
  try {
    atPlace(file, () => {
      writeAll(unfinished.descriptor, Buffer.from(text))
      fchmodSync(unfinished.descriptor, mode)
    })
    unfinished.finish()
  } finally {
    unfinished.remove()
  }
}
