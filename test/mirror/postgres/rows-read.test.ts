import type { PGlite } from '@electric-sql/pglite'
import { beforeAll, expect, test } from 'vitest'
import { findEarlier } from '../../../src/mirror/postgres/removals/earlier-names.ts'
import type { Session } from '../../../src/mirror/postgres/session.ts'
import { inPostgres } from '../../support/both-stores.ts'
import { startPglite } from '../../support/pglite-connections.ts'
import { rowsRead } from '../../support/postgres/rows-read.ts'

/*
 * In tables that the server never analyzed: it knows how large they are, and nothing of what is in them.
 */

let server: PGlite
beforeAll(async () => {
  server = await startPglite()
})

test('the names in rejects are read once for all customers that are about to be removed', async () => {
  const [rejects, asked] = [500, 100]
  const read = await inAcme(async (session) => {
    await session.run(`INSERT INTO rejects
        (run_id, organization, record_id, record_key, page, position, payload, reasons, first_seen_at, seen_at, resolved_at)
      SELECT 1, 'acme', number::text, number::text, 1, 1, '{}', '[]', now(), now(), CASE WHEN number % 2 = 0 THEN now() END
      FROM generate_series(1, ${rejects}) AS number`)
    return rowsRead(session, 'rejects', () => findEarlier(session, 'acme', numbers(asked).map(String)))
  })

  expect(read).toBeGreaterThanOrEqual(asked)
  expect(read).toBeLessThanOrEqual(rejects)
})

async function inAcme<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
  return (await inPostgres(server, {})).write(work)
}

function numbers(to: number): number[] {
  return Array.from({ length: to }, (_, index) => index + 1)
}
