import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { openBackend } from '../../../jobs/queue/backend.ts'
import { EmbeddedPool } from '../../../jobs/queue/postgres/embedded-pool.ts'
import { postgresLimits } from '../../../jobs/queue/postgres/postgres-limits.ts'
import { postgresValues } from '../../../jobs/queue/postgres/postgres-values.ts'
import type { SharedLimits } from '../../../jobs/limits/shared-limits.ts'
import type { SharedValues } from '../../../jobs/queue/shared-values.ts'
import { aQueue, isEmbedded, prepareQueue } from '../../support/jobs-workplace.ts'

const HOUR_MS = 3_600_000
/** The statement for PostgreSQL is played in the one of this process too, which never has a second worker. */
const STORES = ['PostgreSQL in this process', ...(isEmbedded ? [] : [inject('queueAddress')])]

describe.each(STORES)('shared rate limits in %s', (address) => {
  test('turns follow each other, whichever worker asks', async () => {
    const { limits, name } = await aStore(address)
    const wanted = { spacingMs: HOUR_MS, pauseMs: 0 }
    const one = await limits.reserve(name, { ...wanted, turns: 2, worker: 'one' })
    const two = await limits.reserve(name, { ...wanted, turns: 1, worker: 'two' })
    const again = await limits.reserve(name, { ...wanted, turns: 0, worker: 'one' })
    const other = await limits.reserve(`another ${name}`, { ...wanted, turns: 1, worker: 'one' })

    expect(one).toEqual({ turns: 2, firstInMs: 0, pausedMs: 0, workers: 1 })
    expect(two).toMatchObject({ turns: 1, workers: 2 })
    expect(inHours(two.firstInMs)).toBe(2)
    expect(again).toMatchObject({ turns: 0, workers: 2 })
    expect(inHours(again.firstInMs)).toBe(3)
    expect(other).toMatchObject({ firstInMs: 0, workers: 1 })
  })

  test('no turn is given twice to workers that ask at once', async () => {
    const { limits, name } = await aStore(address)
    const asking = Array.from({ length: 9 }, (_, index) =>
      limits.reserve(name, { turns: 1, spacingMs: HOUR_MS, pauseMs: 0, worker: `worker ${index % 3}` }),
    )
    const turns = (await Promise.all(asking)).map(({ firstInMs }) => inHours(firstInMs))

    expect(new Set(turns)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8]))
  })

  test('a pause holds for all, gives no turn, and is only lengthened', async () => {
    const { limits, name } = await aStore(address)
    const wanted = { turns: 1, spacingMs: 1000, worker: 'one' }
    await limits.reserve(name, { ...wanted, pauseMs: HOUR_MS })
    await limits.reserve(name, { ...wanted, pauseMs: 1000, worker: 'two' })
    const paused = await limits.reserve(name, { ...wanted, pauseMs: 0, worker: 'three' })

    expect(paused).toMatchObject({ turns: 0, workers: 3 })
    expect(inHours(paused.pausedMs)).toBe(1)
    expect(paused.firstInMs).toBeLessThanOrEqual(0)
  })

  test('moments of a clock that was set back since are set back with it', async () => {
    const { limits, values, name, value } = await aStore(address)
    await limits.reserve(name, { turns: 0, spacingMs: 1000, pauseMs: HOUR_MS, worker: 'one' })
    const before = JSON.parse((await values.read(value)) ?? '')
    const ahead = (ms: number) => ms + 5 * HOUR_MS
    const state = { ...before, atMs: ahead(before.atMs), pausedUntilMs: ahead(before.pausedUntilMs) }
    await values.write(value, JSON.stringify(state))
    const { pausedMs } = await limits.reserve(name, { turns: 1, spacingMs: 1000, pauseMs: 0, worker: 'one' })

    expect(inHours(pausedMs)).toBe(1)
  })

  test('fifty workers that wait at six requests a minute have turns of their own', async () => {
    const { limits, name } = await aStore(address)
    const turns: number[] = []
    for (let worker = 0; worker < 50; worker += 1) {
      const wanted = { turns: 1, spacingMs: 10_000, pauseMs: 0, worker: `worker ${worker}` }
      turns.push(Math.round((await limits.reserve(name, wanted)).firstInMs / 10_000))
    }

    expect(turns.at(-1)).toBeGreaterThan(40)
    expect(turns).toEqual(turns.toSorted((one, other) => one - other))
  })

  test('turns further ahead than workers reserve them are not believed', async () => {
    const { limits, values, name, value } = await aStore(address)
    await values.write(value, JSON.stringify({ nextMs: Date.now() + 5 * HOUR_MS }))
    const { firstInMs } = await limits.reserve(name, { turns: 1, spacingMs: 1000, pauseMs: 0, worker: 'one' })

    expect(firstInMs).toBe(0)
  })

  test('fields of a newer version stay, and what is not ours is written anew', async () => {
    const { limits, values, name, value } = await aStore(address)
    const wanted = { turns: 1, spacingMs: 1000, pauseMs: 0, worker: 'one' }
    await values.write(value, '{"newer": {"kept": true}, "workers": {"gone": 5}}')
    expect(await limits.reserve(name, wanted)).toMatchObject({ turns: 1, workers: 1 })
    expect(JSON.parse((await values.read(value)) ?? '')).toMatchObject({ newer: { kept: true } })

    for (const foreign of ['not JSON', '[1, 2]', '5', 'null', '{"nextMs": "soon", "atMs": {}, "workers": 7}']) {
      await values.write(value, foreign)
      expect(await limits.reserve(name, wanted)).toEqual({ turns: 1, firstInMs: 0, pausedMs: 0, workers: 1 })
    }
  })
})

function inHours(ms: number): number {
  return Math.round(ms / HOUR_MS)
}

type Store = { limits: SharedLimits; values: SharedValues; close: () => Promise<unknown> }
const opened = new Map<string, Promise<Store>>()
let limitsSoFar = 0

afterAll(async () => {
  for (const store of opened.values()) await (await store).close()
})

/** A limit of one test alone, in a database for all of them. */
async function aStore(address: string): Promise<Store & { name: string; value: string }> {
  const store = opened.get(address) ?? (address.includes('://') ? openServer(address) : openHere())
  opened.set(address, store)
  limitsSoFar += 1
  const name = `vendor-${limitsSoFar}`
  return { ...(await store), name, value: `limit:${name}` }
}

async function openServer(address: string): Promise<Store> {
  const { limits, values, close } = await openBackend(aQueue(address), { folder: 'unused' })
  if (limits === undefined) throw new Error('A queue of several workers has shared limits.')
  return { limits, values, close }
}

async function openHere(): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'customer-mirror-limits-'))
  prepareQueue(folder)
  const database = await PGlite.create(join(folder, 'postgres'))
  const pool = new EmbeddedPool(() => Promise.resolve(database))
  const close = async () => {
    await database.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { limits: postgresLimits(pool, 'test'), values: postgresValues(pool, 'test'), close }
}
