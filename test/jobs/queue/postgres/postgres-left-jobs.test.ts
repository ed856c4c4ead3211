import { PGlite } from '@electric-sql/pglite'
import { DEFAULT_SCHEMA, withBackend, type IQueueBackend } from 'bullmq'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { EmbeddedPool } from '../../../../jobs/queue/postgres/embedded-pool.ts'
import { postgresFactory } from '../../../../jobs/queue/postgres/postgres-factory.ts'
import { postgresLeftJobs } from '../../../../jobs/queue/postgres/postgres-left-jobs.ts'
import { prepareQueue } from '../../../support/jobs-workplace.ts'

const YEAR_MS = 365 * 86_400_000
const queue = 'test-sync'

/** The database of a queue with one job, which a process of another machine has. What a test changes is taken back. */
let pool: EmbeddedPool
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'customer-mirror-'))
  prepareQueue(folder)
  pool = new EmbeddedPool(() => PGlite.create(join(folder, 'postgres')))
  await pool.query(`SET search_path TO ${DEFAULT_SCHEMA}`)
  const { Queue, Worker } = withBackend<IQueueBackend, unknown>(postgresFactory(pool))
  const jobs = new Queue(queue, { connection: {} })
  await jobs.add('sync', { organization: 'acme' })
  const worker = new Worker(queue, undefined, { connection: {} })
  await worker.getNextJob('elsewhere#1#2#3')
  await worker.close()
  await jobs.close()
})
afterAll(async () => {
  await pool.close()
  rmSync(folder, { recursive: true, force: true })
})

beforeEach(async () => void (await pool.query('BEGIN')))
afterEach(async () => void (await pool.query('ROLLBACK')))

test('a lock that ends in a year is no obstacle once it is no longer renewed, nor is a look for stalled jobs of next year', async () => {
  await pool.query('UPDATE bullmq.job SET locked_until_ms = locked_until_ms + $1', [YEAR_MS])
  await pool.query(`INSERT INTO bullmq.meta (queue, field, value) VALUES ($1, 'stalled-check', $2)`, [queue, '1e9'])
  const free = postgresLeftJobs(pool)
  const asked: string[] = []
  const judging = { isGone: () => false, isSilent: (_name: string, value: string) => asked.push(value) < 0 }

  expect(await free(queue, judging)).toBe(0)
  await pool.query('UPDATE bullmq.job SET locked_until_ms = locked_until_ms + 1', [])
  expect(await free(queue, judging)).toBe(0)
  const [lock, look, renewed, lookAgain] = asked
  expect(renewed).not.toBe(lock)
  expect(lookAgain).toBe(look)

  expect(await free(queue, { isGone: () => false, isSilent: () => true })).toBe(1)
  const { rows } = await pool.query('SELECT locked_until_ms::int AS until, stalled_marked FROM bullmq.job', [])
  expect(rows).toEqual([{ until: 0, stalled_marked: true }])
  const looked = await pool.query(`SELECT value FROM bullmq.meta WHERE field = 'stalled-check'`, [])
  expect(looked.rows).toEqual([{ value: '0' }])
})

test('a lock that is renewed while it is judged stays with its worker', async () => {
  const free = postgresLeftJobs({
    async query(sql, values) {
      const found = await pool.query(sql, values)
      if (sql.startsWith('SELECT id'))
        await pool.query('UPDATE bullmq.job SET locked_until_ms = locked_until_ms + 1', [])
      return found
    },
  })

  expect(await free(queue, { isGone: () => false, isSilent: () => true })).toBe(0)
  const { rows } = await pool.query('SELECT locked_until_ms > 0 AS locked FROM bullmq.job', [])
  expect(rows).toEqual([{ locked: true }])
})

test('a job that another worker has taken meanwhile, or that has ended, stays as it is', async () => {
  const freeWhere = (change: string) => {
    const meanwhile = async (sql: string, values: unknown[]) => {
      const found = await pool.query(sql, values)
      if (sql.startsWith('SELECT id')) await pool.query(`UPDATE bullmq.job SET ${change}`, [])
      return found
    }
    return postgresLeftJobs({ query: meanwhile })(queue, { isGone: () => true, isSilent: () => false })
  }

  expect(await freeWhere(`lock_token = 'another#1#2#3'`)).toBe(0)
  expect(await freeWhere(`state = 'completed'`)).toBe(0)
})

test('stalled jobs are looked for again where the last look lies far ahead, and where a job is freed', async () => {
  const look = () => pool.query(`SELECT value FROM bullmq.meta WHERE field = 'stalled-check'`, [])
  for (const [judging, freed] of [
    [{ isGone: () => false, isSilent: (name: string) => name === 'stalled-check' }, 0],
    [{ isGone: () => true, isSilent: () => false }, 1],
  ] as const) {
    await pool.query(
      `INSERT INTO bullmq.meta (queue, field, value) VALUES ($1, 'stalled-check', '1e9')
       ON CONFLICT (queue, field) DO UPDATE SET value = excluded.value`,
      [queue],
    )

    expect(await postgresLeftJobs(pool)(queue, judging)).toBe(freed)
    expect((await look()).rows).toEqual([{ value: '0' }])
  }
})
