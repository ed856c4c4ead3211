import { expect, onTestFinished, test, vi } from 'vitest'
import { ContractBroken, Interrupted, OrganizationLeased } from '../../src/errors/errors.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { eventually } from '../support/eventually.ts'
import {
  listedSource,
  mirroring,
  movingClock,
  namesOf,
  pageOfList,
  type PageSource,
  sourceOf,
  storedNames,
} from '../support/listed-source.ts'
import { aMirror, tamper } from '../support/mirror-file.ts'

test('an error keeps what was saved, and the run is recorded as failed with it', async () => {
  const mirror = await aMirror()
  const broken = new ContractBroken('acme, page 3: HTML instead of JSON', { code: 'bad-answer' })
  const source = failingAt(3, broken)

  const { report, error } = await mirrorOrganization(mirroring(mirror, source, { concurrency: 1 }))

  const told = { code: 'bad-answer', message: broken.message }
  expect(error).toBe(broken)
  expect(report).toMatchObject({
    status: 'failed',
    reasons: ['failed'],
    requests: 3,
    pages: 2,
    received: 20,
    error: told,
  })
  expect(storedNames(mirror)).toEqual(namesOf(customers(1, 20)))
  expect(await mirror.listRuns({ limit: 5 })).toEqual([report])
})

test('after a failed run the next one completes the mirror', async () => {
  const mirror = await aMirror()
  await mirrorOrganization(mirroring(mirror, failingAt(3, new Error('reset')), { concurrency: 1 }))

  const { report } = await mirrorOrganization(mirroring(mirror, listedSource(customers(1, 50))))

  expect(report).toMatchObject({ status: 'complete', unchanged: 20, inserted: 30 })
})

test('an unexpected error is reported as unexpected', async () => {
  const { report } = await mirrorOrganization(mirroring(await aMirror(), failingAt(1, new TypeError('a defect'))))

  expect(report).toMatchObject({ status: 'failed', error: { code: 'unexpected', message: 'a defect' } })
})

test('a stopped run keeps its saved rows, sends no more requests, and is reported as stopped', async () => {
  const mirror = await aMirror()
  const stop = new AbortController()
  const source = listedSource(customers(1, 100))

  const { report, error } = await mirrorOrganization(
    mirroring(mirror, source, {
      signal: stop.signal,
      concurrency: 1,
      now: movingClock(),
      onProgress: ({ pages }) => {
        if (pages === 4) stop.abort()
      },
    }),
  )

  expect(error).toBeInstanceOf(Interrupted)
  expect(report).toMatchObject({ status: 'interrupted', reasons: ['interrupted'], pages: 4, requests: 4, received: 40 })
  expect(storedNames(mirror)).toHaveLength(40)
  expect(await mirror.listRuns({ limit: 1 })).toEqual([report])
})

test('a mirror that fails while it is written ends the run with its error', async () => {
  const mirror = await aMirror()
  const source = sourceOf(async (window) => {
    if (window.page === 2) {
      tamper(mirror.file, `CREATE TRIGGER no_more BEFORE INSERT ON customers BEGIN SELECT RAISE(ABORT, 'no more'); END`)
    }
    return pageOfList(customers(1, 30), window)
  })

  const { report, error } = await mirrorOrganization(mirroring(mirror, source, { concurrency: 1 }))

  expect(String(error)).toMatch(/trigger no_more|P0001/)
  expect(report).toMatchObject({ status: 'failed', received: 10 })
  expect(storedNames(mirror)).toHaveLength(10)
})

function failingAt(page: number, error: Error, beforeOthers?: () => Promise<unknown>): PageSource {
  return sourceOf(async (window) => {
    if (window.page === page) throw error
    if (window.page > page) await beforeOthers?.()
    return pageOfList(customers(1, 100), window)
  })
}

test('a run that waits long is not taken over while it lives', async () => {
  const mirror = await aMirror()
  const other = await aMirror(mirror.file)
  const clock = aClock()
  let second: Promise<unknown> = Promise.resolve()
  const source = sourceOf(async (window, { signal }) => {
    if (window.page > 1) {
      await clock.pass(10 * MINUTE_MS, signal)
      second = other.startRun({ organization: 'acme', trigger: 'sync', nowMs: clock.now() })
      await Promise.allSettled([second])
    }
    return pageOfList(customers(1, 20), window)
  })

  const { report } = await mirrorOrganization(mirroring(mirror, source, { now: clock.now, concurrency: 1 }))

  expect(report).toMatchObject({ status: 'complete', received: 20, durationMs: 10 * MINUTE_MS })
  await expect(second).rejects.toBeInstanceOf(OrganizationLeased)
})

test('a run that loses its lease while it waits ends as held, and writes no more', async () => {
  const mirror = await aMirror()
  const successor = await aMirror(mirror.file)
  const clock = aClock()
  let told = false
  const source = sourceOf(async (window, { signal }) => {
    if (window.page === 2) {
      await successor.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + 2 * MINUTE_MS })
      await clock.pass(MINUTE_MS, signal)
      told = await eventually(() => signal.aborted, Boolean)
    }
    return pageOfList(customers(1, 50), window)
  })

  const { report, error } = await mirrorOrganization(mirroring(mirror, source, { now: clock.now, concurrency: 1 }))

  expect(told).toBe(true)
  expect(error).toMatchObject({ name: 'OrganizationLeased', code: 'leased' })
  expect(report).toMatchObject({ status: 'failed', received: 10, error: { code: 'leased' } })
  expect(storedNames(mirror)).toHaveLength(10)
  expect(await mirror.listRuns({ limit: 5 })).toMatchObject([
    { status: 'running' },
    { status: 'interrupted', received: 10 },
  ])
})

test('a run that finds its lease lost when it saves ends as held, and that page is not kept', async () => {
  const mirror = await aMirror()
  const successor = await aMirror(mirror.file)
  const source = sourceOf(async (window) => {
    if (window.page === 2) {
      await successor.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + 2 * MINUTE_MS })
    }
    return pageOfList(customers(1, 50), window)
  })

  const { report, error } = await mirrorOrganization(mirroring(mirror, source, { concurrency: 1 }))

  expect(error).toMatchObject({ name: 'OrganizationLeased', code: 'leased' })
  expect(report).toMatchObject({ status: 'failed', received: 10 })
  expect(storedNames(mirror)).toHaveLength(10)
})

/** A clock that advances only when the test says so; the timers of a run use it. */
function aClock() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  let nowMs = START_MS
  return {
    now: () => nowMs,
    async pass(ms: number, signal: AbortSignal): Promise<void> {
      for (const end = nowMs + ms; nowMs < end && !signal.aborted;) {
        nowMs += 1000
        await vi.advanceTimersByTimeAsync(1000)
      }
    },
  }
}
