import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { EmbeddedPool } from '../../../../jobs/queue/postgres/embedded-pool.ts'

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

test('a query that was refused is followed by the next one', async () => {
  const { pool } = aPool()
  const refused = pool.query('no query', [])

  expect(await pool.query('SELECT 1', [])).toEqual({ rows: [], rowCount: null })
  await expect(refused).rejects.toThrow('refused')
})

/** A pool over a database that answers nothing, at once. */
function aPool(): { pool: EmbeddedPool; begun: string[] } {
  const begun: string[] = []
  const query = async (text: string) => {
    begun.push(text)
    if (!text.startsWith('SELECT')) throw new Error('refused')
    return { rows: [] }
  }
  return { pool: new EmbeddedPool(Object({ query, onNotification: () => () => {} })), begun }
}
