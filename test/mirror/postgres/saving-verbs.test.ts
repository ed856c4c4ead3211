import { expect, test } from 'vitest'
import { openDatabase } from '../../../src/mirror/postgres/opening/database.ts'
import { runVerbs } from '../../../src/mirror/postgres/run/run-verbs.ts'
import { savingVerbs } from '../../../src/mirror/postgres/run/saving-verbs.ts'
import type { Database } from '../../../src/mirror/postgres/session.ts'
import { aPage, customers, START_MS } from '../../support/builders.ts'
import { pgliteConnections, startPglite } from '../../support/pglite-connections.ts'
import { anEmptyMirror } from '../../support/postgres/emptied.ts'

test('a few organizations at a time have a save under way in the server, however many are loaded at once', async () => {
  const server = await startPglite()
  const database = await openDatabase(await anEmptyMirror(), 'write', { connect: () => pgliteConnections(server) })
  let [underWay, most] = [0, 0]
  const watched: Database = {
    ...database,
    async write(work, once) {
      underWay += 1
      most = Math.max(most, underWay)
      return await database.write(work, once).finally(() => (underWay -= 1))
    },
  }
  const { savePages } = savingVerbs(watched)
  const load = async (organization: string) => {
    const run = await runVerbs(database).startRun({ organization, trigger: 'sync', nowMs: START_MS })
    return await savePages(run, [aPage(1, customers(1, 3))], START_MS)
  }
  const saved = await Promise.all(['acme', 'globex', 'initech', 'hooli', 'umbrella', 'stark'].map(load))

  expect(saved.map(({ records }) => records.inserted)).toEqual([3, 3, 3, 3, 3, 3])
  expect(most).toBe(4)
})
