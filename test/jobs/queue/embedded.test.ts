import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, dirname } from 'node:path'
import { expect, test } from 'vitest'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { messages, type PGlite } from '@electric-sql/pglite'
import { embeddedPool, openEmbedded } from '../../../jobs/queue/embedded.ts'
import { temporaryFolder } from '../../support/mirror-file.ts'
import { withoutPrivileges } from '../../support/run-cli.ts'

const CLOSED = /^The embedded queue in \S+queue cannot be used \(EACCES\)\. .*this user may use the folder \(chown -R\)/

test.each<[what: string, prepare: (queue: string) => void, said: RegExp]>([
  ['a folder that this user may not enter', (queue) => chmodSync(dirname(queue), 0o000), CLOSED],
  ['a file', (queue) => writeFileSync(queue, ''), /cannot be used \(ENOTDIR\)/],
])('an embedded queue in the place of which is %s is reported with its fix', async (_what, prepare, said) => {
  const place = temporaryFolder()
  chmodSync(place, 0o755)
  const queue = join(place, 'inner', 'queue')
  mkdirSync(dirname(queue))
  prepare(queue)
  const open = () => openEmbedded(queue, 'customer-mirror')

  await expect(said === CLOSED ? withoutPrivileges(open) : open()).rejects.toMatchObject({
    ...{ code: 'queue', message: expect.stringMatching(said) },
  })
  chmodSync(dirname(queue), 0o700)
})

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
] as const)('after $severity $code a database is asked nothing more, which its worker learns once', async (ended) => {
  const { pool, begun, told } = aPool(ended)
  const panic = pool.query('panic', [])
  const refused = pool.query('SELECT 1', [])

  await expect(panic).rejects.toThrow('refused')
  await expect(refused).rejects.toBe(told[0])
  expect({ begun, told: told.length }).toEqual({ begun: ['panic'], told: 1 })
})

/** A pool over a database that answers nothing, at once: the queries that it was asked, and the errors with which it ended. */
function aPool({ severity = 'ERROR', code = '42601' }: { severity?: 'ERROR' | 'FATAL' | 'PANIC'; code?: string } = {}) {
  const begun: string[] = []
  const told: unknown[] = []
  const query = async (text: string) => {
    begun.push(text)
    if (!text.startsWith('SELECT'))
      throw Object.assign(new messages.DatabaseError('refused', 0, 'error'), { severity, code })
    return { rows: [] }
  }
  const database: PGlite = Object({ query, onNotification: () => () => {} })
  return { pool: embeddedPool(database, (error) => told.push(error)), begun, told }
}
