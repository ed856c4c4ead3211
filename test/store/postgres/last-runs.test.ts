import { expect, test } from 'vitest'
import { listLastRuns } from '../../../src/store/reading/runs.ts'
import { postgresSession } from '../../../src/store/port/postgres-store.ts'
import type { LastRun } from '../../../src/model/mirror.ts'
import { inPostgres } from '../../support/both-stores.ts'
import { startPglite } from '../../support/pglite-connections.ts'
import { rowsRead } from '../../support/postgres/rows-read.ts'

test('the last run of one organization is found without those of a thousand others', async () => {
  const database = await inPostgres(await startPglite(), {})
  const { found, read } = await database.write(async (session) => {
    await session.run(`INSERT INTO runs (organization, trigger, started_at, read_as_of, status)
      SELECT 'org-' || number % 1000, 'sync', now(), now(), 'complete' FROM generate_series(1, 5000) AS number`)
    let runs: LastRun[] = []
    const look = async () => (runs = await listLastRuns(postgresSession(session), { organization: 'org-7' }))
    return { read: await rowsRead(session, 'runs', look), found: runs }
  })

  expect(found.map(({ organization }) => organization)).toEqual(['org-7'])
  expect(read).toBeGreaterThan(0)
  expect(read).toBeLessThan(20)
})
