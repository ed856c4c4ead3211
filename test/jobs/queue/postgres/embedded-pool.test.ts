import { setImmediate as nextTurn } from 'node:timers/promises'
import { messages, type PGlite } from '@electric-sql/pglite'
import { afterEach, expect, test, vi } from 'vitest'
import { EmbeddedPool } from '../../../../jobs/queue/embedded.ts'

afterEach(() => void vi.useRealTimers())

test('of a thousand queries that come together, a turn of the event loop takes a few, in their order', async () => {
  const { pool, begun } = aPool()
  const client = await pool.connect()
  const numbers = Array.from({ length: 1000 }, (_, number) => number)
  const asked = numbers.map((number) => (number % 2 === 0 ? pool : client).query(`SELECT ${number}`, []))
  const afterTurns: number[] = []
  do {
    await nextTurn()
    afterTurns.push(begun.length)
  } while (begun.length < numbers.length)
  await Promise.all(asked)

  expect(begun).toEqual(numbers.map((number) => `SELECT ${number}`))
  expect(Math.max(...afterTurns.map((after, turn) => after - (afterTurns[turn - 1] ?? 0)))).toBeLessThanOrEqual(100)
})

test.each([
  { severity: 'PANIC', code: '53100' },
  { severity: 'FATAL', code: 'XX000' },
  // A file that could not be made.
  { severity: 'ERROR', code: '58P02' },
  { severity: 'ERROR', code: '58P01' },
] as const)(
  'a database that ended with $severity $code is asked nothing more: queries are refused for a while, then another one is opened',
  async (ended) => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    const { pool, opened } = aPool(ended)
    const client = await pool.connect()
    const lost: unknown[] = []
    client.on('error', (error) => lost.push(error))
    const panic = pool.query('panic', [])
    const refused = pool.query('SELECT 1', [])

    await expect(panic).rejects.toThrow('refused')
    await expect(refused).rejects.toBe(lost[0])
    vi.advanceTimersByTime(100)
    expect(await pool.query('SELECT 2', [])).toEqual({ rows: [], rowCount: null })
    expect(opened).toEqual([['panic'], ['SELECT 2']])
    expect(lost).toHaveLength(1)
  },
)

/** A pool over databases that answer nothing, at once: `opened` are the queries of each of them. */
function aPool({ severity = 'ERROR', code = '42601' }: { severity?: 'ERROR' | 'FATAL' | 'PANIC'; code?: string } = {}) {
  const begun: string[] = []
  const opened: string[][] = []
  const open = () => {
    const asked: string[] = []
    opened.push(asked)
    const query = async (text: string) => {
      for (const queries of [asked, begun]) queries.push(text)
      if (!text.startsWith('SELECT'))
        throw Object.assign(new messages.DatabaseError('refused', 0, 'error'), { severity, code })
      return { rows: [] }
    }
    return Promise.resolve<PGlite>(Object({ query, onNotification: () => () => {} }))
  }
  return { pool: new EmbeddedPool(open), begun, opened }
}
