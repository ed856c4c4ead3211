import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { factsOf, MaxRunReached, UsageError } from '../../src/errors/errors.ts'
import { openConfiguredSource, type RateLimits } from '../../src/sync/run-organization.ts'
import { PATIENT } from '../source/a-source.ts'
import { faultServer, list } from '../support/fault-server.ts'
import { aMirror, rowsOf, temporaryFolder } from '../support/mirror-file.ts'
import { configured, syncSandbox } from '../support/mirrored-sandbox.ts'
import { aSandbox } from '../support/workplace.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { customers, START_MS, HOUR_MS } from '../support/builders.ts'
import { mirroring, pageOfList, sourceOf } from '../support/listed-source.ts'

test.each([
  ['is refused', 'withdrawn', 'replaced', 'failed unauthorized, complete'],
  ['is not there yet', undefined, 'replaced', 'failed config, complete'],
  ['is empty while it is written', '', 'replaced', 'failed config, complete'],
  ['is refused and stays', 'withdrawn', undefined, 'failed unauthorized'],
  ['is refused and then removed', 'withdrawn', '', 'failed unauthorized'],
])('a key that %s is read again after its run, which is made once more where it was replaced', async (...row) => {
  const [, before, after, runs] = row
  const file = join(temporaryFolder(), 'key')
  const keep = (key: string) => writeFileSync(file, key, { mode: 0o600 })
  const sandbox = await aSandbox({ customers: 10 })
  const mirror = await aMirror()
  // A person replaces it while the run goes on.
  const startRun: typeof mirror.startRun = (...starting) => {
    if (after !== undefined) keep(after === 'replaced' ? (sandbox.organizations[0]?.apiKey ?? '') : after)
    return mirror.startRun(...starting)
  }
  if (before !== undefined) keep(before)
  await syncSandbox(sandbox, { ...mirror, startRun }, { apiKey: { file } })

  const found = rowsOf(mirror.file, 'SELECT status, error_code FROM runs ORDER BY id')
  expect(found.map((run) => Object.values(run).filter(Boolean).join(' ')).join(', ')).toBe(runs)
})

test('an address that no request may be sent to is recorded as a failed run too', async () => {
  const mirror = await aMirror()
  const { error } = await syncSandbox(await aSandbox(), mirror, { baseUrl: new URL('http://192.0.2.1/api/v1') })

  expect(error).toBeInstanceOf(UsageError)
  expect(rowsOf(mirror.file, 'SELECT status FROM runs')).toEqual([{ status: 'failed' }])
})

test('a changed number of requests at once holds from the next run on', async () => {
  const sandbox = await aSandbox({ customers: 10 })
  const rateLimits: RateLimits = new Map()
  for (const concurrency of [2, 8, 3]) {
    const waiting: (() => void)[] = []
    // As many as are expected at once are answered together.
    const server = await faultServer((...answering) => {
      waiting.push(() => void list(900)(...answering))
      if (waiting.length === concurrency) for (const answer of waiting.splice(0)) answer()
    })
    const organization = { ...configured(sandbox, { concurrency }), baseUrl: server.baseUrl }
    const clocks = { now: Date.now, monotonicMs: Date.now, random: () => 0 }
    const source = await openConfiguredSource(organization, { rateLimits, longestWaitMs: 1000, ...clocks })
    const read = (_: unknown, index: number) => source.readPage({ page: 1 + (index % 9), size: 100 }, PATIENT)
    await Promise.all(Array.from({ length: 3 * concurrency }, read))
    expect(server.mostInFlight).toBe(concurrency)
    source.close()
  }
})

const LIST = customers(1, 95)
const CHAIN = { scan: 'chain', pageSize: 20, concurrency: 1 } as const

/** A service of which each answer takes that long. */
function slowSource(takesMs: number) {
  let passedMs = 0
  const source = sourceOf(async (window) => {
    passedMs += takesMs
    return pageOfList(LIST, window)
  })
  return { source, now: () => START_MS + passedMs }
}

test('a run that takes longer than maxRun ends as interrupted, and the next ones go on to the end of the list', async () => {
  const mirror = await aMirror()
  const { source, now } = slowSource(2 * HOUR_MS)
  const terms = { ...CHAIN, now, maxRunMs: 8 * HOUR_MS, resumeWithinMs: 6 * HOUR_MS }

  const first = await mirrorOrganization(mirroring(mirror, source, terms))
  expect(first.error).toBeInstanceOf(MaxRunReached)
  expect(first.report).toMatchObject({ status: 'interrupted', proof: 'unproven', reasons: ['interrupted'], pages: 4 })
  const said = /^acme: the run was ended after 8 h, as long as one may take\. .*saved, and the next run goes on/
  expect(first.report.error).toEqual({ code: 'max-run', message: expect.stringMatching(said) })
  expect(factsOf(first.error).exitCode).toBe(5)

  const second = await mirrorOrganization(mirroring(mirror, source, { ...terms, maxRunMs: 12 * HOUR_MS }))
  expect(second.report).toMatchObject({ status: 'complete', proof: 'proven', resumedFrom: first.report.runId })
  expect(rowsOf(mirror.file, 'SELECT status, error_code FROM runs')).toEqual([
    { status: 'interrupted', error_code: 'max-run' },
    { status: 'complete', error_code: null },
  ])
  // Nothing was read twice but what links the two, and the ends of the list.
  expect(source.asked.length).toBeLessThanOrEqual(9)
})

test('a scan of many days comes to its end, whatever ends a run in between', async () => {
  const mirror = await aMirror()
  const { source, now } = slowSource(4 * HOUR_MS)
  // Two answers a run: both ends of the list are read again within one run, as they are in no run of a single answer.
  const terms = { ...CHAIN, pageSize: 10, now, maxRunMs: 8 * HOUR_MS, resumeWithinMs: 10 * HOUR_MS }
  const statuses: string[] = []
  for (let run = 1; run <= 12 && statuses.at(-1) !== 'complete'; run += 1) {
    const stop = run === 3 ? AbortSignal.abort() : new AbortController().signal
    const { report } = await mirrorOrganization(mirroring(mirror, source, { ...terms, signal: stop }))
    statuses.push(report.status)
  }
  expect(statuses.at(-1)).toBe('complete')
  expect(statuses.length).toBeGreaterThan(4)
})

test('maxRun ends requests that are still open five seconds later, keeps what has come, and the next run goes on', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const mirror = await aMirror()
  const hanging = Promise.withResolvers<AbortSignal>()
  const source = sourceOf(async (window, { signal }) => {
    if (window.page < 3) return pageOfList(LIST, window)
    hanging.resolve(signal)
    await once(signal, 'abort')
    throw signal.reason
  })
  const run = mirrorOrganization(mirroring(mirror, source, { ...CHAIN, maxRunMs: 60_000 }))
  const signal = await hanging.promise

  await vi.advanceTimersByTimeAsync(64_999)
  expect(signal.aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  const { report, error } = await run

  expect(error).toMatchObject({ code: 'max-run' })
  expect(report).toMatchObject({ status: 'interrupted', pages: 2 })
  const next = await mirrorOrganization(mirroring(mirror, slowSource(0).source, { ...CHAIN, resumeWithinMs: HOUR_MS }))
  expect(next.report).toMatchObject({ status: 'complete', resumedFrom: report.runId })
})
