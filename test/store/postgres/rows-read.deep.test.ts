import type { PGlite } from '@electric-sql/pglite'
import { beforeAll, expect, test } from 'vitest'
import { EMPTY_LIST } from '../../../src/model/list-as-read.ts'
import { RowSet } from '../../../src/model/row-set.ts'
import { REWRITTEN_AT_ONCE } from '../../../src/store/privacy/rewrite-hidden.ts'
import { rewriteSome } from '../../../src/store/privacy/rewrite-hidden.ts'
import { findEarlier } from '../../../src/store/absent/candidates.ts'
import { findUnjudged } from '../../../src/store/absent/older-list.ts'
import { listedMeanwhile } from '../../../src/store/absent/find-absent.ts'
import { removeRows } from '../../../src/store/absent/held-removals.ts'
import { markMissing } from '../../../src/store/absent/mark-absent.ts'
import { changesPruning } from '../../../src/store/retention.ts'
import { postgresSession } from '../../../src/store/port/postgres-store.ts'
import { mirrorOf } from '../../../src/store/open-postgres.ts'
import { findDoubts } from '../../../src/store/runs/list-memory.ts'
import { recallWindows } from '../../../src/store/runs/windows.ts'
import type { Database, Session } from '../../../src/store/port/postgres-session.ts'
import { hiddenValues } from '../../../src/privacy/hidden-values.ts'
import { NOTHING_HIDDEN, privacyPolicy } from '../../../src/privacy/privacy-policy.ts'
import type { Run } from '../../../src/model/run.ts'
import { inPostgres } from '../../support/both-stores.ts'
import { START_MS } from '../../support/builders.ts'
import { startPglite } from '../../support/pglite-connections.ts'
import { rowsRead, stockCustomers } from '../../support/postgres/rows-read.ts'

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
    return rowsRead(session, 'rejects', () => findEarlier(postgresSession(session), 'acme', numbers(asked).map(String)))
  })

  expect(read).toBeGreaterThanOrEqual(asked)
  expect(read).toBeLessThanOrEqual(rejects)
})

test('a customer newer than the absent ones is looked for among the first and the last rows alone', async () => {
  const stocked = 20_000
  const { read, unjudged } = await inAcme(async (session) => {
    await stockCustomers(session, stocked)
    await session.run(`UPDATE customers SET created_at_utc = '2020-01-01' WHERE row_id < ${stocked}`)
    await session.run(`UPDATE customers SET created_at_utc = '2025-01-01' WHERE row_id = ${stocked}`)
    await session.run('CREATE INDEX customers_by_language ON customers (organization, language, removed_at)')
    const absent = [{ rowId: 700, createdAtUtc: '2021-01-01 00:00:00' }]
    let found = new Set<number>()
    const run = aRun({ seen: rowSet(stocked), startedAtMs: START_MS })
    return {
      read: await rowsRead(
        session,
        'customers',
        async () => (found = await findUnjudged(postgresSession(session), run, absent, undefined)),
      ),
      unjudged: found,
    }
  })

  expect(unjudged).toEqual(new Set())
  expect(read).toBeGreaterThan(0)
  expect(read).toBeLessThanOrEqual(200)
})

test('the customers in the windows of an interrupted run are each read once', async () => {
  const stocked = 45_000
  const read = await inAcme(async (session) => {
    await stockCustomers(session, stocked)
    const run = aRun({ resumedFrom: 1, seen: rowSet(stocked), list: EMPTY_LIST })
    return rowsRead(session, 'customers', () => recallWindows(postgresSession(session), run))
  })

  expect(read).toBe(stocked)
})

test('what quick runs changed since the list was read is found without the changes from before', async () => {
  const [stocked, changed] = [5000, 3]
  const { read, doubts } = await inAcme(async (session) => {
    await stockCustomers(session, stocked)
    await session.run(`INSERT INTO changes (run_id, organization, id, change, fields, at)
      SELECT 1, 'acme', number::text, 'changed', '{}', now() FROM generate_series(1, ${stocked}) AS number`)
    await session.run(
      `INSERT INTO lists (organization, run_id, reader, customers, warnings) VALUES ('acme', 1, '', 0, '')`,
    )
    await quickRun(session, 2, changed)
    let found: Awaited<ReturnType<typeof findDoubts>> | undefined
    return {
      read: await rowsRead(
        session,
        'changes',
        async () => (found = await findDoubts(postgresSession(session), 'acme')),
      ),
      doubts: found,
    }
  })

  expect([...(doubts?.changedSince ?? [])]).toEqual(numbers(changed))
  expect(read).toBeLessThan(10 * changed)
})

test('what several quick runs wrote while a scan was interrupted is found in one reading of the customers', async () => {
  const stocked = 5000
  const { read, written } = await inAcme(async (session) => {
    await stockCustomers(session, stocked)
    for (const id of [2, 3, 4]) await quickRun(session, id, id)
    let found = new Set<number>()
    const run = aRun({ resumedFrom: 1 })
    return {
      read: await rowsRead(
        session,
        'customers',
        async () => (found = await listedMeanwhile(postgresSession(session), run)),
      ),
      written: found,
    }
  })

  expect([...written].toSorted((one, other) => one - other)).toEqual([1, 2, 3, 4])
  // Each row that was written left one from before.
  expect(read).toBeLessThan(stocked + 100)
})

test('no customer is read where no quick run wrote while a scan was interrupted', async () => {
  const read = await inAcme(async (session) => {
    await stockCustomers(session, 1000)
    return rowsRead(session, 'customers', () => listedMeanwhile(postgresSession(session), aRun({ resumedFrom: 1 })))
  })

  expect(read).toBe(0)
})

test('a few customers that are found absent are marked and removed without a look at the others', async () => {
  const [stocked, absent] = [20_000, 64]
  const read = await inAcme(async (session) => {
    await stockCustomers(session, stocked)
    const run = aRun({})
    const missing = numbers(absent).map((rowId) => ({
      row: { ...NAMELESS, rowId, missingProven: 0, missingScans: 0, missingWhole: 0 },
      isCounted: true,
    }))
    return rowsRead(session, 'customers', async () => {
      await markMissing(postgresSession(session), run, missing, { proof: 'proven', nowMs: START_MS })
      await removeRows(postgresSession(session), run, numbers(absent), START_MS + 1)
    })
  })

  expect(read).toBeGreaterThanOrEqual(2 * absent)
  expect(read).toBeLessThan(10 * absent)
})

test('each step of a changed privacy policy reads a bounded part of many changes', async () => {
  const read = await inAcme(async (session) => {
    await stockChanges(session, 50_000)
    return rowsRead(session, 'changes', () => hideAddresses(session))
  })

  expect(read).toBeGreaterThanOrEqual(REWRITTEN_AT_ONCE)
  expect(read).toBeLessThan(10 * REWRITTEN_AT_ONCE)
})

test('each step of retention reads no more changes than it deletes', async () => {
  const database = await inPostgres(server, {})
  const steps: number[] = []
  const pruned = await database.write(async (session) => {
    await stockChanges(session, 50_000)
    const inSteps: Database = {
      ...database,
      read: (work) => work(session),
      write: async <Result>(work: (session: Session) => Promise<Result>) => {
        const before = await entriesRead(session, 'changes')
        const result = await work(session)
        steps.push((await entriesRead(session, 'changes')) - before)
        return result
      },
    }
    const retention = { changesMs: 1, resolvedRejectsMs: undefined, runsMs: undefined, removedCustomersMs: undefined }
    return mirrorOf(inSteps).prune('acme', retention, { asOfMs: START_MS, isConfirmed: true })
  })

  expect(pruned).toMatchObject({ changes: 50_000, error: undefined })
  // Later steps also pass what those before them have deleted, in this one transaction.
  expect(steps[0]).toBeLessThan(10_000)
})

test('each step of retention looks up what it deletes, in a table that was analyzed too', async () => {
  const [stocked, most] = [20_000, 500]
  const read = await inAcme(async (session) => {
    await stockChanges(session, stocked)
    await session.run('ANALYZE changes')
    const deletion = changesPruning('acme', { beforeMs: START_MS, asOfMs: START_MS })
    // It looks first where to stop.
    await deletion(postgresSession(session), 0)
    return rowsRead(session, 'changes', () => deletion(postgresSession(session), most))
  })

  expect(read).toBeGreaterThanOrEqual(most)
  expect(read).toBeLessThan(5 * most)
})

test.each(['never analyzed', 'analyzed'])(
  'a step of an organization with few changes reads no others, in a table %s',
  async (kind) => {
    const few = 300
    const read = await inAcme(async (session) => {
      await stockChanges(session, 20_000)
      await session.run(
        `UPDATE changes SET organization = 'globex' WHERE seq > (SELECT min(seq) + ${few - 1} FROM changes)`,
      )
      if (kind === 'analyzed') await session.run('ANALYZE changes')
      return rowsRead(session, 'changes', () => hideAddresses(session))
    })

    expect(read).toBeGreaterThanOrEqual(few)
    expect(read).toBeLessThan(5 * few)
  },
)

/** What the functions under test do not ask about an absent customer. */
const NAMELESS = { id: '', name: null, username: null, email: null, createdAtUtc: null }

/** The first step of a changed policy in the changes of acme. */
async function hideAddresses(session: Session): Promise<void> {
  const hidden = hiddenValues(NOTHING_HIDDEN, privacyPolicy({ drop: ['address'] }))
  if (hidden === undefined) throw new Error('the policy hides nothing')
  await rewriteSome(postgresSession(session), aRun({}), {
    hidden,
    place: { table: 'changes', row: 0 },
    nowMs: START_MS,
  })
}

async function inAcme<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
  return (await inPostgres(server, {})).write(work)
}

/** Changes of a year ago. */
async function stockChanges(session: Session, changes: number): Promise<void> {
  await session.run(`INSERT INTO changes (run_id, organization, id, change, fields, at)
    SELECT 1, 'acme', number::text, 'changed', '{"name":["Ada","Eve"]}', '2025-01-01' FROM generate_series(1, ${changes}) AS number`)
}

/** How many entries of the indexes of a table the server has read in this transaction. */
async function entriesRead(session: Session, table: string): Promise<number> {
  const found = await session.first<{ entries: number }>(
    'SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid)) AS entries FROM pg_index WHERE indrelid = to_regclass($1)',
    table,
  )
  return Number(found?.entries)
}

/** A quick run that changed the first customers. */
async function quickRun(session: Session, id: number, changed: number): Promise<void> {
  await session.run(`INSERT INTO runs (id, organization, trigger, started_at, read_as_of, status, trusted_pages, updated)
    VALUES (${id}, 'acme', 'sync', now(), now(), 'partial', 1, ${changed})`)
  await session.run(`SET LOCAL customer_mirror.unnoticed = 'on'`)
  await session.run(`UPDATE customers SET last_run_id = ${id} WHERE row_id <= ${changed}`)
  await session.run(`INSERT INTO changes (run_id, organization, id, change, fields, at)
    SELECT ${id}, 'acme', number::text, 'changed', '{}', now() FROM generate_series(1, ${changed}) AS number`)
}

/** A run of acme, with what the function under test asks of it. */
function aRun(given: Partial<Run>): Run {
  const run: Partial<Run> = { id: 1, organization: 'acme', ...given }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return run as Run
}

function numbers(to: number): number[] {
  return Array.from({ length: to }, (_, index) => index + 1)
}

function rowSet(to: number): RowSet {
  const rows = new RowSet()
  for (const row of numbers(to)) rows.add(row)
  return rows
}
