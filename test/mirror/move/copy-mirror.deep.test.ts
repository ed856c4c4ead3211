import type { PGlite } from '@electric-sql/pglite'
import { beforeAll, expect, test } from 'vitest'
import { MOVED_TABLES, type MovedTable } from '../../../src/mirror/move/moved-tables.ts'
import { postgresSide } from '../../../src/mirror/move/postgres-side.ts'
import { pagesOf } from '../../../src/mirror/move/side.ts'
import { openDatabase } from '../../../src/mirror/postgres/opening/database.ts'
import type { Database as Postgres } from '../../../src/mirror/postgres/session.ts'
import { pgliteConnections, startPglite } from '../../support/pglite-connections.ts'
import { anEmptyMirror } from '../../support/postgres/emptied.ts'
import { rowsRead, stockCustomers } from '../../support/postgres/rows-read.ts'

let server: PGlite

beforeAll(async () => {
  server = await startPglite()
})

test('each row is read once from a table in PostgreSQL that was never analyzed, however many pages there are', async () => {
  const [stocked, table] = [20_000, tableOf('customers')]
  const database = await aDatabase()
  const counted = await database.write(async (session) => {
    await stockCustomers(session, stocked)
    const side = postgresSide(session, 'there')
    let pages = 0
    const read = await rowsRead(session, table.name, async () => {
      for await (const _ of pagesOf(side, table, ['acme'])) pages += 1
    })
    return { pages, read }
  })

  expect(counted).toEqual({ pages: stocked / table.atOnce, read: stocked })
})

function tableOf(name: string): MovedTable {
  const table = MOVED_TABLES.find((one) => one.name === name)
  if (table === undefined) throw new Error(`${name} is not moved`)
  return table
}

async function aDatabase(): Promise<Postgres> {
  return openDatabase(await anEmptyMirror(), 'write', { connect: () => pgliteConnections(server) })
}
