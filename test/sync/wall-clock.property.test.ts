import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Report } from '../../src/model/report.ts'
import { DEFAULT_PRESET, recipeOf } from '../../src/signing/signing.ts'
import { openSource } from '../../src/source/customers.ts'
import { RateLimit } from '../../src/source/rate-limit.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { virtualTime } from '../source/a-source.ts'
import { START_MS } from '../support/builders.ts'
import { envelopeOf, faultServer, json, refusal, type Reply } from '../support/fault-server.ts'
import { mirroring } from '../support/listed-source.ts'
import { aMirror, rowsOf } from '../support/mirror-file.ts'
import { seeds } from '../support/seeds.ts'

const [SECOND_MS, MINUTE_MS, HOUR_MS, YEAR_MS] = [1000, 60_000, 3_600_000, 365 * 24 * 3_600_000]
const TOTAL = 420
/** The rounding error of a moment in whole seconds. */
const ROUNDING_MS = 2 * SECOND_MS

/** How a refusal names the wait. Dates are meant by the clock of the service, which its answers show. */
const FORMS = ['seconds', 'date', 'reset'] as const

type Play = {
  /** Milliseconds by which the wall clock is wrong, another number at every look at it. */
  errors: readonly number[]
  /** Whether it is wrong before the first answer shows the clock of the service. */
  isWrongFromStart: boolean
  limit: { requests: number; windowMs: number }
  form: (typeof FORMS)[number]
  concurrency: number
  requestsPerMinute: number | undefined
  /** The request that is answered 503, with a wait. */
  unavailableAt: number
  /** Pages after which the run is stopped, to be gone on with by another. */
  stopAfter: number | undefined
}

const play: fc.Arbitrary<Play> = fc.record({
  errors: fc.array(
    fc.oneof(
      fc.integer({ min: -60 * SECOND_MS, max: 60 * SECOND_MS }),
      fc.integer({ min: -HOUR_MS, max: HOUR_MS }),
      fc.integer({ min: -9 * YEAR_MS, max: 9 * YEAR_MS }),
    ),
    { minLength: 2, maxLength: 40 },
  ),
  isWrongFromStart: fc.boolean(),
  limit: fc.record({ requests: fc.integer({ min: 1, max: 8 }), windowMs: fc.constantFrom(3 * SECOND_MS, MINUTE_MS) }),
  form: fc.constantFrom(...FORMS),
  concurrency: fc.constantFrom(1, 3),
  requestsPerMinute: fc.constantFrom(undefined, 30, 600),
  unavailableAt: fc.nat({ max: 12 }),
  stopAfter: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
})

const certificate = z.looseObject({
  ...{ proof: z.string(), reasons: z.array(z.string()), distinct: z.number(), total: z.number().nullish() },
})

test('a wall clock that changes at every reading changes only the dates of a run', async () => {
  await fc.assert(
    fc.asyncProperty(play, async (drawn) => {
      const steady = await played({ ...drawn, errors: [0] })
      const jumping = await played(drawn)

      expect(jumping.reports.at(-1)).toMatchObject({ status: 'complete', proof: 'proven', error: undefined })
      for (const { durationMs, waitedMs } of [...jumping.reports, ...jumping.stored]) {
        expect(durationMs).toBeGreaterThanOrEqual(0)
        expect(waitedMs).toBeGreaterThanOrEqual(0)
      }
      const { proof, reasons, distinct, total } = steady.certificate
      expect(jumping.certificate).toMatchObject({ proof, reasons, distinct, total })
      // Requests that are spread over the minute wait for their turn besides.
      if (drawn.requestsPerMinute === undefined)
        expect(Math.max(0, ...jumping.slept)).toBeLessThanOrEqual(jumping.longestToldMs + ROUNDING_MS)
      // Answers to several at once come in another order now and then, whatever the clock does. With a first answer that
      // does not agree with our clock, a request more shows that it is the clock which is wrong.
      if (drawn.concurrency === 1 && !drawn.isWrongFromStart)
        expect(withoutStamps(jumping)).toEqual(withoutStamps(steady))
    }),
    { numRuns: seeds(25, { least: 2, every: 20 }) },
  )
})

/** One run to its end, or two of which the second goes on from the first. */
async function played(drawn: Play) {
  const { errors, isWrongFromStart, limit, form, concurrency, requestsPerMinute, unavailableAt, stopAfter } = drawn
  const time = virtualTime(1000)
  const mirror = await aMirror()
  const service = aService(time, { limit, form, unavailableAt })
  await using server = await faultServer(service.answer)
  const rateLimit = new RateLimit({ concurrency, requestsPerMinute, ...time })
  const mirrorOnce = async (pages: number | undefined) => {
    let hasAnswered = isWrongFromStart
    const wallClock = aWallClock(time.monotonicMs, (look) => (hasAnswered ? (errors[look % errors.length] ?? 0) : 0))
    const stop = new AbortController()
    const source = openSource({
      settings: {
        ...{ baseUrl: server.baseUrl, signing: recipeOf(DEFAULT_PRESET), concurrency },
        ...{ requestTimeoutMs: 600_000, maxWaitMs: HOUR_MS, longestWaitMs: HOUR_MS },
      },
      credentials: { apiKey: 'made-up-key', secret: 'made-up-secret' },
      ...{ rateLimit, userAgent: 'customer-mirror/test', random: () => 0.5, onAnswer: () => (hasAnswered = true) },
      ...{ now: wallClock, monotonicMs: time.monotonicMs, sleep: time.sleep },
    })
    try {
      const { report } = await mirrorOrganization(
        mirroring(mirror, source, {
          ...{ scan: 'chain', pageSize: 50, concurrency, signal: stop.signal },
          ...{ now: wallClock, monotonicMs: time.monotonicMs },
          onProgress: (progress) => {
            if (pages !== undefined && progress.pages >= pages) stop.abort()
          },
        }),
      )
      return report
    } finally {
      source.close()
    }
  }
  const reports = stopAfter === undefined ? [] : [await mirrorOnce(stopAfter)]
  reports.push(await mirrorOnce(undefined))
  const stored = await mirror.listRuns({ limit: 5 })
  const [last] = rowsOf(mirror.file, 'SELECT certificate FROM runs ORDER BY id DESC LIMIT 1')
  const { asked, longestToldMs } = service
  return {
    asked,
    longestToldMs,
    reports,
    stored,
    slept: time.slept,
    certificate: certificate.parse(JSON.parse(String(last?.['certificate']))),
  }
}

/** What was played, without the times that the wall clock gave. */
function withoutStamps({ reports, stored, ...same }: Awaited<ReturnType<typeof played>>) {
  const bare = ({ startedAtMs: _start, finishedAtMs: _end, readAsOfMs: _asOf, ...run }: Report) => run
  return { ...same, reports: reports.map(bare), stored: stored.map(bare) }
}

/** Right when a run begins, so that it is known which one goes on from which, and wrong by `errorAt` at every later look. */
function aWallClock(monotonicMs: () => number, errorAt: (look: number) => number): () => number {
  let looks = 0
  return () => {
    const errorMs = looks === 0 ? 0 : errorAt(looks)
    looks += 1
    return START_MS + monotonicMs() + errorMs
  }
}

/** A service with a rate limit and a clock of its own, that is never wrong. */
function aService(
  { monotonicMs }: { monotonicMs: () => number },
  { limit, form, unavailableAt }: Pick<Play, 'limit' | 'form' | 'unavailableAt'>,
) {
  const asked: string[] = []
  let [endMs, used] = [0, 0]
  const service = {
    asked,
    /** The longest wait that an answer asked for. */
    longestToldMs: 0,
    answer: (async (response, request) => {
      const nowMs = monotonicMs()
      const unixMs = START_MS + nowMs
      asked.push(`${request.page} of ${request.size}`)
      const headers = { Date: new Date(unixMs).toUTCString() }
      if (nowMs >= endMs) [endMs, used] = [nowMs + limit.windowMs, 0]
      used += 1
      if (used <= limit.requests && asked.length !== unavailableAt) {
        await json(200, envelopeOf(TOTAL, request), headers)(response, request)
        return
      }
      const waitMs = used > limit.requests ? endMs - nowMs : 5000
      service.longestToldMs = Math.max(service.longestToldMs, waitMs)
      const status = used > limit.requests ? 429 : 503
      await refusal(status, 'not now', 'Ask again later.', { ...headers, ...told(form, unixMs + waitMs, waitMs) })(
        response,
        request,
      )
    }) satisfies Reply as Reply,
  }
  return service
}

function told(form: Play['form'], unixMs: number, waitMs: number): Record<string, string> {
  if (form === 'date') return { 'Retry-After': new Date(unixMs + 999).toUTCString() }
  const seconds = Math.ceil(form === 'seconds' ? waitMs / 1000 : unixMs / 1000)
  return { [form === 'seconds' ? 'Retry-After' : 'X-RateLimit-Reset']: String(seconds) }
}
