import { expect, test } from 'vitest'
import { HOLDING_TABLES } from '../../../src/mirror/postgres/holding-tables.ts'
import { openDatabase } from '../../../src/mirror/postgres/opening/database.ts'
import { vacuum } from '../../../src/mirror/postgres/vacuum.ts'
import { pgliteConnections, startPglite } from '../../support/pglite-connections.ts'
import { anEmptyMirror } from '../../support/postgres/emptied.ts'

test('deleted rows are called freed only where the server has freed them', async () => {
  const server = await startPglite()
  const database = await openDatabase(await anEmptyMirror(), 'write', { connect: () => pgliteConnections(server) })

  expect(await vacuum(database, HOLDING_TABLES)).toBe(true)
  expect(await vacuum(database, ['a_table_that_is_not_there'])).toBe(false)
})
