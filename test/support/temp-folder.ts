import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** One place for all, whatever environment a command line is run in meanwhile: a file can be renamed from one folder to another. */
const PLACE = tmpdir()

/** A private empty folder of the running test, removed when it ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(PLACE, 'customer-mirror-'))
  onTestFinished(() => {
    // A process that was just ended may still write there.
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  })
  return folder
}
