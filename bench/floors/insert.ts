import Database from 'better-sqlite3'
import { dirname } from 'node:path'
import { request } from 'undici'
import * as z from 'zod'
import { utcTime } from '../../src/time/moments.ts'
import { TEXT_FIELDS } from '../../src/model/customer.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { createStopwatch, printMeasurement } from '../measure.ts'
import { baseUrlOf, readTask } from '../messages.ts'

/**
 * A program, the floor under storing: rows that are already parsed go into the mirror's own table with nothing but INSERT,
 * fifty pages a transaction. Downloading them is not measured.
 */
const PAGES_A_TRANSACTION = 50

const pageSchema = z.object({
  data: z.array(z.record(z.string(), z.string())),
  meta: z.object({ last_page: z.number() }),
})

const { origin, organizations, file } = readTask()
// Loaded before it is timed, as the program that is compared with this floor.
await import('../../src/store/open-sqlite.ts')
const stopwatch = createStopwatch(dirname(file))
const { insert, close } = await stopwatch.time(() => openTable(file))
let customers = 0
for (const organization of organizations) {
  for await (const rows of batches(organization)) {
    await stopwatch.time(async () => insert(rows))
    customers += rows.length
  }
}
await stopwatch.time(async () => close())
printMeasurement({ ...stopwatch.result(), customers })

async function openTable(path: string) {
  const mirror = await openMirror(path)
  const { id: runId } = await mirror.startRun({ organization: organizations[0] ?? '', trigger: 'sync', nowMs: 0 })
  // With another one in it, the mirror has its index of ids while rows are inserted, as a table made by hand would.
  await mirror.startRun({ organization: 'another', trigger: 'sync', nowMs: 0 })
  await mirror.close()
  const db = new Database(path)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  const ours = ['created_at_utc', 'first_seen_at', 'changed_at', 'last_run_id', 'updated_at']
  const columns = ['organization', 'id', ...TEXT_FIELDS, ...ours]
  const statement = db.prepare(
    `INSERT INTO customers (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  )
  const now = '2026-01-01 00:00:00.000'
  const insertAll = db.transaction((rows: readonly (readonly unknown[])[]) => {
    for (const row of rows) statement.run(...row, now, now, runId, now)
  })
  return { insert: insertAll, close: () => db.close() }
}

async function* batches(organization: string): AsyncGenerator<unknown[][]> {
  let rows: unknown[][] = []
  for (let [page, lastPage] = [1, 1]; page <= lastPage; page += 1) {
    const { body } = await request(`${baseUrlOf(origin, organization)}/customers?page=${page}&per_page=100`)
    const { data, meta } = pageSchema.parse(await body.json())
    lastPage = meta.last_page
    for (const row of data) {
      const texts = TEXT_FIELDS.map((field) => row[field])
      rows.push([organization, row['id'], ...texts, utcTime(row['created_at'] ?? '')])
    }
    if (page % PAGES_A_TRANSACTION === 0 || page === lastPage) {
      yield rows
      rows = []
    }
  }
}
