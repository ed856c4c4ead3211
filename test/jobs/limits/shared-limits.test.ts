import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { openBackend } from '../../../jobs/queue/backend.ts'
import { EmbeddedPool } from '../../../jobs/queue/embedded.ts'
import type { SharedLimits } from '../../../jobs/queue/port.ts'
import { postgresLimits } from '../../../jobs/queue/postgres.ts'
import { aQueue, isEmbedded, prepareQueue } from '../../support/jobs-workplace.ts'

const HOUR_MS = 3_600_000
/** The statement for PostgreSQL is played in the one of this process too, which never has a second worker. */
const STORES = ['PostgreSQL in this process', ...(isEmbedded ? [] : [inject('queueAddress')])]

describe.each(STORES)('shared rate limits in %s', (address) => {
  test('turns follow each other, whichever worker asks, and each limit has its own', async () => {
    const { limits, name } = await aLimit(address)
    const asked = { spacingMs: 60_000, pauseMs: 0 }
    const asking = Array.from({ length: 9 }, () => limits.take(name, asked))
    const turns = (await Promise.all(asking)).map(({ turnInMs }) => Math.round(turnInMs / 60_000))

    expect(new Set(turns)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8]))
    expect((await limits.take(`another ${name}`, asked)).turnInMs).toBeCloseTo(0, -2)
  })

  test('a pause holds for all, takes no turn, and is only lengthened', async () => {
    const { limits, name } = await aLimit(address)
    await limits.take(name, { spacingMs: 1000, pauseMs: HOUR_MS })
    await limits.take(name, { spacingMs: 1000, pauseMs: 1000 })
    const paused = await limits.take(name, { spacingMs: 1000, pauseMs: 0 })

    expect(Math.round(paused.pausedMs / HOUR_MS)).toBe(1)
    expect(paused.turnInMs).toBeLessThanOrEqual(0)
  })

  test('turns further ahead than workers take them are not believed', async () => {
    const { limits, name } = await aLimit(address)
    for (let turn = 0; turn < 2; turn += 1) await limits.take(name, { spacingMs: 5 * HOUR_MS, pauseMs: 0 })

    expect((await limits.take(name, { spacingMs: 1000, pauseMs: 0 })).turnInMs).toBeCloseTo(0, -2)
  })
})

type Store = { limits: SharedLimits; close: () => Promise<unknown> }
const opened = new Map<string, Promise<Store>>()
let limitsSoFar = 0

afterAll(async () => {
  for (const store of opened.values()) await (await store).close()
})

/** A limit of one test alone, in a database for all of them. */
async function aLimit(address: string): Promise<{ limits: SharedLimits; name: string }> {
  const store = opened.get(address) ?? (address.includes('://') ? openServer(address) : openHere())
  opened.set(address, store)
  limitsSoFar += 1
  return { limits: (await store).limits, name: `vendor-${limitsSoFar}` }
}

async function openServer(address: string): Promise<Store> {
  const { limits, close } = await openBackend(aQueue(address), { folder: 'unused' })
  if (limits === undefined) throw new Error('A queue of several workers has shared limits.')
  return { limits, close }
}

async function openHere(): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'customer-mirror-limits-'))
  prepareQueue(folder)
  const database = await PGlite.create(join(folder, 'postgres'))
  const close = async () => {
    await database.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { limits: postgresLimits(new EmbeddedPool(() => Promise.resolve(database)), 'test'), close }
}
