import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openMirror } from '../../src/store/mirror.ts'
import { rowIdsFrom } from '../../src/store/runs/windows.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { HOW_MANY_NIGHTS, playNight } from './five-nights.ts'
import { aPlayedFile, rowsOf, tamper } from './mirror-file.ts'
import { temporaryFolder } from './temp-folder.ts'

/** A mirror in a file, also where the tests run on PostgreSQL. It is closed when the test ends. */
export async function aSqliteMirror(): Promise<Mirror> {
  const mirror = await openMirror(join(temporaryFolder(), 'customers.db'))
  onTestFinished(() => mirror.close())
  return mirror
}

/** Five nights of two organizations, and rows in every other table. */
export function aFullMirror(): Promise<string> {
  return aPlayedFile(fill)
}

async function fill(mirror: Mirror): Promise<void> {
  for (let n = 0; n < HOW_MANY_NIGHTS; n += 1) await playNight(mirror, n)
  const { file } = mirror
  const [acme = 0, globex = 0] = rowsOf(file, 'SELECT min(row_id) AS row FROM customers GROUP BY organization').map(
    ({ row }) => Number(row),
  )
  tamper(file, `DELETE FROM changes WHERE seq = (SELECT max(seq) FROM changes)`)
  tamper(file, `INSERT INTO held_removals VALUES ('globex', ?, 2, 0)`, globex)
  tamper(file, `INSERT OR IGNORE INTO absences VALUES ('globex', ?, 1, 1, 1)`, globex)
  tamper(file, `INSERT INTO edited_customers (organization, row_id) VALUES ('acme', 9000)`)
  tamper(file, `INSERT INTO windows VALUES (1, 0, 100, 100, 5, 1, 0, ?, '["a", null]')`, rowIdsFrom([acme, 0, -1]))
  tamper(
    file,
    `INSERT OR REPLACE INTO lists VALUES ('acme', 1, 'reader', ?, x'00ff', '{"warnings":[{}]}', ?, ?)`,
    ...[
      [acme, 9001],
      [0, acme + 2, acme],
      [acme + 1, 9002],
    ].map(rowIdsFrom),
  )
  tamper(file, `INSERT INTO privacy_policies VALUES ('acme', '{}', '{}', 'customers', ?, '[]', 1)`, acme)
  tamper(file, `INSERT INTO retired_organizations VALUES ('globex', '2026-01-01 00:00:00.123')`)
  tamper(file, `INSERT INTO unfinished_forgets VALUES ('initech')`)
  tamper(file, `INSERT INTO forgotten_keys VALUES ('acme', randomblob(32))`)
  tamper(file, `INSERT INTO forgotten VALUES (7, 'acme', 'hash', '2026-01-01 00:00:00.000')`)
  tamper(file, `INSERT INTO horizons VALUES ('acme', 0, 0, '2026-01-01 00:00:00.000', NULL)`)
  tamper(
    file,
    `INSERT INTO rejects VALUES (NULL, 1, 'acme', NULL, 'key', 1, 0, '{}', '[]', '2026-01-01 00:00:00.000',
    '2026-01-01 00:00:00.000', NULL)`,
  )
}
