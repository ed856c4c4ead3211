import { afterEach, beforeAll, beforeEach } from 'vitest'
import { openDatabase } from '../../../src/store/postgres/open-database.ts'
import { mirrorOf } from '../../../src/store/open-postgres.ts'
import type { Mirror } from '../../../src/model/mirror.ts'
import type { Database } from '../../../src/store/port/postgres-session.ts'
import type { Ending } from '../../../src/model/run.ts'
import { anEnding, aPage, MINUTE_MS, START_MS } from '../builders.ts'
import { pgliteConnections, startPglite } from '../pglite-connections.ts'
import { anEmptyMirror } from './emptied.ts'
import { text } from '../../../src/store/port/sql.ts'

/**
 * A mirror for all tests of a file, to which each adds what an administrator may add: `undo` takes statements that take it away again.
 * Each test has an organization of its own.
 */
export function aMirrorWithAdditions() {
  let database: Database
  let mirror: Mirror
  let organizations = 0
  const undo: string[] = []
  beforeAll(async () => {
    const server = await startPglite()
    database = await openDatabase(await anEmptyMirror(), 'write', { connect: () => pgliteConnections(server) })
    mirror = mirrorOf(database)
  })
  beforeEach(() => {
    organizations += 1
  })
  afterEach(async () => {
    for (const sql of undo.splice(0).toReversed()) await write(sql)
  })
  const organization = () => `acme-${organizations}`

  function write(sql: string) {
    return database.write((session) => session.run(text(sql)))
  }

  async function night(list: readonly object[], n = 0, ending: Partial<Ending> = {}) {
    const nowMs = START_MS + n * MINUTE_MS
    const run = await mirror.startRun({ organization: organization(), trigger: 'sync', nowMs })
    try {
      await mirror.savePages(run, [aPage(1, list)], nowMs)
      return await mirror.finishRun(run, anEnding(ending), nowMs)
    } catch (error) {
      await mirror.finishRun(run, anEnding({ status: 'failed' }), nowMs)
      throw error
    }
  }

  return { database: () => database, organization, undo, write, night }
}
