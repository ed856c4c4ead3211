import Database from 'better-sqlite3'
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import * as z from 'zod'
import { TEXT_FIELDS } from '../../src/model/customer.ts'
import { DEFAULT_PRESET, recipeOf, signedHeaders } from '../../src/signing/signing.ts'
import { createStopwatch, printMeasurement } from '../measure.ts'
import { baseUrlOf, CREDENTIALS, readTask, type Task } from '../messages.ts'

/**
 * A program: the simplest that does the work. One `fetch` after the other, following the page number to the
 * last, and one upsert a row; a transaction a page, which is kind to it.
 */
const FIELDS = ['id', ...TEXT_FIELDS] as const

const pageSchema = z.object({ data: z.array(z.unknown()), meta: z.object({ last_page: z.number() }) })

const task = readTask()
const stopwatch = createStopwatch(dirname(task.file))
const read = await stopwatch.time(() => loop(task))
printMeasurement({ ...stopwatch.result(), ...read, fileBytes: statSync(task.file).size })

async function loop({ origin, organizations, file }: Task): Promise<{ requests: number; customers: number }> {
  const db = new Database(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  db.exec(`CREATE TABLE IF NOT EXISTS customers (id TEXT PRIMARY KEY, ${FIELDS.slice(1).join(', ')})`)
  const upsert = db.prepare(
    `INSERT INTO customers (${FIELDS.join(', ')}) VALUES (${FIELDS.map((field) => `@${field}`).join(', ')})
     ON CONFLICT (id) DO UPDATE SET ${FIELDS.slice(1)
       .map((field) => `${field} = excluded.${field}`)
       .join(', ')}`,
  )
  const savePage = db.transaction((rows: readonly unknown[]) => {
    for (const row of rows) upsert.run(row)
  })
  let [requests, customers] = [0, 0]
  for (const organization of organizations) {
    for (let [page, lastPage] = [1, 1]; page <= lastPage; page += 1) {
      const url = new URL(`${baseUrlOf(origin, organization)}/customers?page=${page}&per_page=100`)
      const response = await fetch(url, { headers: headersFor(url) })
      const { data, meta } = pageSchema.parse(await response.json())
      savePage(data)
      lastPage = meta.last_page
      requests += 1
      customers += data.length
    }
  }
  db.close()
  return { requests, customers }
}

function headersFor(url: URL): Record<string, string> {
  return signedHeaders({ method: 'GET', url }, CREDENTIALS, { unixMs: Date.now() }, recipeOf(DEFAULT_PRESET))
}
