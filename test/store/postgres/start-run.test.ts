import type { PGlite } from '@electric-sql/pglite'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { OrganizationLeased } from '../../../src/errors/errors.ts'
import { emptyColumns, type ListAsRead } from '../../../src/model/list-as-read.ts'
import { openDatabase } from '../../../src/store/postgres/open-database.ts'
import { storeLaterOrder, storeList } from '../../../src/store/runs/list-memory.ts'
import { postgresSession } from '../../../src/store/port/postgres-store.ts'
import { mirrorOf } from '../../../src/store/open-postgres.ts'
import type { Mirror } from '../../../src/model/mirror.ts'
import type { Database } from '../../../src/store/port/postgres-session.ts'
import { rowIdsFrom } from '../../../src/store/runs/windows.ts'
import { bootName, nameOfProcess } from '../../../src/machine/process-name.ts'
import { MINUTE_MS, START_MS } from '../../support/builders.ts'
import { pgliteConnections, startPglite } from '../../support/pglite-connections.ts'
import { anEmptyMirror } from '../../support/postgres/emptied.ts'
import { someOf } from '../../support/seeds.ts'

let server: PGlite
let database: Database
let mirror: Mirror

beforeAll(async () => {
  server = await startPglite()
})
beforeEach(async () => {
  database = await openDatabase(await anEmptyMirror(), 'write', { connect: () => pgliteConnections(server) })
  mirror = mirrorOf(database)
})

describe('the lease', () => {
  test('keeps other runs of the organization away, and names the one that has it', async () => {
    const first = await start()

    const lease = await database.read((session) => session.first('SELECT organization, run_id FROM leases'))
    expect(lease).toEqual({ organization: 'acme', run_id: first.id })
    await expect(start()).rejects.toThrow(`acme: run ${first.id} (process ${process.pid} on `)
    await expect(start({ organization: 'globex' })).resolves.toBeDefined()
  })

  test.each(
    someOf([
      ['was not renewed for a minute', `expires_at_ms = expires_at_ms - 61000`],
      ['ends later than any lease that is taken now', `expires_at_ms = expires_at_ms + 86400000, holder = 'elsewhere'`],
      ['is of a process that has ended', `holder = '${endedProcess()}'`],
    ]),
  )('that %s is taken over, and the run that had it can write no more', async (_what, change) => {
    const first = await start()
    await write(`UPDATE leases SET ${change}`)

    const second = await start()

    expect(second.id).toBeGreaterThan(first.id)
    await expect(mirror.renewLease(first, START_MS)).rejects.toThrow(OrganizationLeased)
    await expect(mirror.renewLease(second, START_MS)).resolves.toBeUndefined()
    expect(await rows('SELECT status, error_code FROM runs ORDER BY id')).toEqual([
      { status: 'interrupted', error_code: 'interrupted' },
      { status: 'running', error_code: null },
    ])
  })

  test('is renewed by the clock of the server', async () => {
    const run = await start()
    await write(`UPDATE leases SET expires_at_ms = expires_at_ms - 55000`)

    await mirror.renewLease(run, START_MS)

    expect(
      await rows(`SELECT expires_at_ms > extract(epoch FROM now()) * 1000 + 50000 AS renewed FROM leases`),
    ).toEqual([{ renewed: true }])
  })

  test('that another run took since it was looked at is not taken from it', async () => {
    const first = await start()
    await write(`UPDATE leases SET expires_at_ms = expires_at_ms - 61000`)
    const others = mirrorOf({
      ...database,
      write: (work, once) =>
        database.write(async (session) => {
          let looks = 0
          return await work({
            ...session,
            first: async (sql, ...parameters) => {
              looks += 1
              if (looks === 2) await session.run(`UPDATE leases SET run_id = 99, expires_at_ms = expires_at_ms + 60000`)
              return await session.first(sql, ...parameters)
            },
          })
        }, once),
    })

    await expect(others.startRun(acme({}))).rejects.toMatchObject({ code: 'leased' })
    expect(await rows('SELECT run_id FROM leases')).toEqual([{ run_id: first.id }])
  })
})

test('no run starts on a mirror that another version has changed since it was opened', async () => {
  await write('UPDATE mirror_schema SET version = version + 1')
  onTestFinished(async () => void (await write('UPDATE mirror_schema SET version = version - 1')))

  await expect(start()).rejects.toMatchObject({
    code: 'version',
    message: expect.stringMatching(
      /^postgres:.* another version of Customer Mirror made this mirror .* Use the version that made it/,
    ),
  })
  expect(await rows('SELECT id FROM runs')).toEqual([])
})

describe('a run after an interrupted one', () => {
  test('continues it: its windows, its rows, the start of its scan', async () => {
    const first = await start()
    await write(`INSERT INTO customers (row_id, organization, id, created_at, first_seen_at, changed_at, last_run_id, updated_at)
      VALUES (1, 'acme', 'a', '2026-01-01', now(), now(), 1, now()), (2, 'acme', 'b', NULL, now(), now(), 1, now())`)
    await recordWindow(first.id, { start: 0, rowIds: [2, 0, -7, 1], rejected: ['x'] })
    await ended(first.id, 'network')

    const second = await start({ nowMs: START_MS + MINUTE_MS })

    expect(second).toMatchObject({ resumedFrom: first.id, readAsOfMs: START_MS, readBefore: 4 })
    expect([...second.seen]).toEqual([1, 2])
    expect([...second.rejectedIds, ...second.suppressed]).toEqual(['x', 7])
    expect([...(await mirror.recallWindows(second))]).toEqual([
      {
        ...{ page: 1, size: 100, perPage: 100, total: 4, lastPage: undefined, beyondEnd: false },
        rows: [
          { id: 'b', createdAt: undefined, rowId: 2 },
          { id: 'x', createdAt: undefined, rowId: undefined },
          { id: undefined, createdAt: undefined, rowId: -7 },
          { id: 'a', createdAt: '2026-01-01', rowId: 1 },
        ],
      },
    ])
    expect(await rows('SELECT run_id FROM windows')).toEqual([{ run_id: second.id }])
    expect(await rows('SELECT read_before FROM runs ORDER BY id')).toEqual([{ read_before: 0 }, { read_before: 4 }])
  })

  test.each(
    someOf([
      ['is too old', 'network', 7 * 60 * MINUTE_MS],
      ['ended with an error that says nothing about the rest', 'bad-answer', MINUTE_MS],
      ['began far in the future', 'network', -3 * 60 * MINUTE_MS],
    ]),
  )('does not continue one that %s, and forgets its windows', async (_what, code, laterMs) => {
    const first = await start()
    await recordWindow(first.id, { start: 0, rowIds: [], rejected: [] })
    await ended(first.id, code)

    expect(await start({ nowMs: START_MS + laterMs })).toMatchObject({ resumedFrom: undefined, readBefore: 0 })
    expect(await rows('SELECT * FROM windows')).toEqual([])
  })

  test('a quick run takes nothing from it', async () => {
    const first = await start()
    await recordWindow(first.id, { start: 0, rowIds: [], rejected: [] })
    await ended(first.id, 'network')

    expect(await start({ isQuick: true })).toMatchObject({ resumedFrom: undefined, isQuick: true })
    expect(await rows('SELECT run_id FROM windows')).toEqual([{ run_id: first.id }])
  })
})

describe('the list as last read', () => {
  test('is stored in chunks, and loaded as it was', async () => {
    const list = aList(10_000)
    await storeAndEnd(list)

    const { list: loaded } = await start()

    expect(loaded).toEqual(list)
  })

  test('has the order that quick runs found since', async () => {
    await storeAndEnd(aList(3))
    const later = { parts: [0, [1, 2] as [number, number]], pending: [3] }
    await database.write((session) => storeLaterOrder(postgresSession(session), 'acme', later))

    expect((await start()).list).toEqual({ ...aList(3), later })
  })

  test('that changed in a place is written only there, and a shorter one leaves nothing behind', async () => {
    await storeAndEnd(aList(10_000))
    const before = await rows('SELECT chunk, xmin FROM list_chunks ORDER BY chunk')
    const changed = aList(10_000)
    changed.columns.oddities[5000] = 1
    await storeAndEnd(changed)
    const after = await rows('SELECT chunk, xmin FROM list_chunks ORDER BY chunk')
    expect(after.map((row, place) => row['xmin'] === before[place]?.['xmin'])).toEqual([true, false, true])

    await storeAndEnd(aList(3))
    expect(await rows('SELECT chunk FROM list_chunks')).toEqual([{ chunk: 0 }])
    expect(await rows('SELECT number FROM list_windows')).toHaveLength(1)
    expect((await start()).list).toEqual(aList(3))
  })

  test('that is damaged, or was stored by another version, is ignored', async () => {
    await storeAndEnd(aList(5000))
    await write('DELETE FROM list_chunks WHERE chunk = 1')
    const run = await start()
    expect(run.list.columns.rowIds).toHaveLength(0)
    await ended(run.id, 'network')
    await storeAndEnd(aList(5000))
    await write(`UPDATE lists SET reader = 'other'`)

    expect((await start()).list.columns.rowIds).toHaveLength(0)
  })

  test('is doubted in rows that were edited, written or missing since', async () => {
    await customers(5)
    await storeAndEnd(aList(5))
    await write(`UPDATE customers SET name = 'By hand' WHERE row_id = 2`)
    await write(`UPDATE customers SET missing_since = now(), last_run_id = 1 WHERE row_id = 4`)
    await write(
      `INSERT INTO runs (organization, trigger, started_at, read_as_of, status, updated) VALUES ('acme', 'sync', now(), now(), 'failed', 1)`,
    )
    await write(`UPDATE customers SET last_run_id = 2 WHERE row_id = 5`)

    const run = await start()

    expect([...run.doubted]).toEqual([2, 4, 5])
    expect([...run.changedSince]).toEqual([])
  })

  test('an edit that the run did not know of is kept for the next one', async () => {
    await customers(3)
    await write(`UPDATE customers SET name = 'Early' WHERE row_id <= 2`)
    const run = await start()
    await write(`UPDATE customers SET name = 'Late' WHERE row_id >= 2`)

    await database.write((session) => storeList(postgresSession(session), run, aList(3)))

    expect(await rows('SELECT row_id FROM edited_customers ORDER BY 1')).toEqual([{ row_id: 2 }, { row_id: 3 }])
  })
})

const acme = (given: Partial<Parameters<typeof mirror.startRun>[0]>) => ({
  ...{ organization: 'acme', trigger: 'sync' as const, nowMs: START_MS, resumeWithinMs: 6 * 60 * MINUTE_MS },
  ...given,
})

function start(given: Partial<Parameters<typeof mirror.startRun>[0]> = {}) {
  return mirror.startRun(acme(given))
}

function write(sql: string, ...parameters: unknown[]) {
  return database.write((session) => session.run(sql, ...parameters))
}

function rows(sql: string) {
  return database.read((session) => session.all<Record<string, unknown>>(sql))
}

/** A process of this machine with the number of one that cannot be. */
function endedProcess(): string {
  const [machine] = nameOfProcess().split('#')
  return `${machine}#4194305#1#${bootName() ?? ''}`
}

async function recordWindow(runId: number, window: { start: number; rowIds: number[]; rejected: string[] }) {
  await write(
    `INSERT INTO windows (run_id, start, size, per_page, total, beyond_end, row_ids, rejected)
     VALUES ($1, $2, 100, 100, 4, false, $3, $4)`,
    ...[runId, window.start, rowIdsFrom(window.rowIds), JSON.stringify(window.rejected)],
  )
}

async function ended(runId: number, code: string): Promise<void> {
  await write(`UPDATE runs SET status = 'failed', error_code = $2 WHERE id = $1`, runId, code)
  await write('DELETE FROM leases')
}

async function storeAndEnd(list: ListAsRead): Promise<void> {
  const run = await start()
  await database.write((session) => storeList(postgresSession(session), run, list))
  await ended(run.id, 'bad-answer')
}

async function customers(count: number): Promise<void> {
  await write(
    `INSERT INTO customers (row_id, organization, id, first_seen_at, changed_at, last_run_id, updated_at)
     SELECT number, 'acme', number, now(), now(), 1, now() FROM generate_series(1, $1::int) AS number`,
    count,
  )
}

function aList(count: number): ListAsRead {
  const columns = emptyColumns(count)
  for (let place = 0; place < count; place += 1) {
    columns.rowIds[place] = place + 1
    columns.fingerprints[place] = place * 3
    columns.idFingerprints[place] = 4_000_000_000 - place
  }
  const windows = Array.from({ length: Math.ceil(count / 5000) }, (_, number) => {
    return { place: number * 5000, count: 5000, digest: `digest ${number}`, outline: '{}' }
  })
  return { columns, windows, warnings: [{}], order: {}, later: undefined }
}
