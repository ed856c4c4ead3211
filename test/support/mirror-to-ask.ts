import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openMirror } from '../../src/store/mirror.ts'
import { customers } from './builders.ts'
import { mirrorPages } from './mirror-file.ts'

/** Counts without end. */
export const ENDLESS = 'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT COUNT(*) FROM c'

/** A mirror of five customers in a folder of its own, for all tests of a file, which removes the folder. */
export async function aMirrorToAsk(): Promise<string> {
  const file = join(mkdtempSync(join(tmpdir(), 'customer-mirror-')), 'customers.db')
  const mirror = await openMirror(file)
  await mirrorPages(mirror, [customers(1, 5)])
  await mirror.close()
  return file
}
