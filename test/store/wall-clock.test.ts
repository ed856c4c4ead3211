import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anEnding, aPage, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aMirror, valueOf } from '../support/mirror-file.ts'
import { seeds } from '../support/seeds.ts'
import { LEASE_MS } from '../../src/store/refusals.ts'
import type { Mirror } from '../../src/model/mirror.ts'

const HOUR_MS = 60 * MINUTE_MS
const YEAR_MS = 365 * 24 * HOUR_MS

const LEASED = expect.objectContaining({ name: 'OrganizationLeased', code: 'leased' })
const LOST = expect.objectContaining({ name: 'OrganizationLeased', code: 'leased' })

const start = (mirror: Mirror, nowMs: number, monotonicMs: number) =>
  mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs, monotonicMs: () => monotonicMs })

describe('a lease, when the wall clock is set', () => {
  test.each([HOUR_MS, YEAR_MS, -HOUR_MS, -YEAR_MS])(
    'by %d ms, is not over and lets no other run start',
    async (byMs) => {
      const mirror = await aMirror()
      await start(mirror, START_MS, 5000)

      const second = start(await aMirror(mirror.file), START_MS + byMs, 5000 + LEASE_MS - 1)

      await expect(second).rejects.toThrow(LEASED)
      expect(valueOf(mirror.file, 'SELECT count(*) FROM runs')).toBe(1)
    },
  )

  test.each([HOUR_MS, YEAR_MS, -HOUR_MS, -YEAR_MS])(
    'by %d ms, is over after a silent minute all the same',
    async (byMs) => {
      const mirror = await aMirror()
      await start(mirror, START_MS, 5000)

      await expect(start(mirror, START_MS + byMs, 5000 + LEASE_MS)).resolves.toBeDefined()
    },
  )

  test('and a run that was replaced all the same writes nothing any more', async () => {
    const mirror = await aMirror()
    const replaced = await start(mirror, START_MS, 5000)
    await start(await aMirror(mirror.file), START_MS + HOUR_MS, 5000 + LEASE_MS)

    await expect(mirror.savePages(replaced, [aPage(1, customers(1, 3))], START_MS)).rejects.toThrow(LOST)
    expect(valueOf(mirror.file, 'SELECT count(*) FROM customers')).toBe(0)
  })
})

describe('how long a run took', () => {
  test('is what the monotonic clock says, whatever the wall clock was set to', async () => {
    const jump = fc.integer({ min: -5 * YEAR_MS, max: 5 * YEAR_MS })
    await fc.assert(
      fc.asyncProperty(jump, fc.nat({ max: HOUR_MS }), async (byMs, tookMs) => {
        const mirror = await aMirror()
        let monotonicMs = 0
        const asked = {
          organization: 'acme',
          trigger: 'sync',
          nowMs: START_MS,
          monotonicMs: () => monotonicMs,
        } as const
        const run = await mirror.startRun(asked)
        monotonicMs = tookMs
        const told = await mirror.finishRun(run, anEnding(), START_MS + byMs)

        expect(told.durationMs).toBe(tookMs)
        expect(await mirror.listRuns({ limit: 1 })).toEqual([told])
        expect(valueOf(mirror.file, 'SELECT finished_at >= started_at FROM runs')).toBe(1)
      }),
      { numRuns: seeds(20) },
    )
  })
})
