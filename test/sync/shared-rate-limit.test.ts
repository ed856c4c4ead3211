import { expect, test } from 'vitest'
import { openConfiguredSource, runOrganization, type RateLimits } from '../../src/sync/run-organization.ts'
import { faultServer, list } from '../support/fault-server.ts'
import { PATIENT } from '../source/a-source.ts'
import { configured } from '../support/mirrored-sandbox.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aSandbox } from '../support/workplace.ts'
import { openMirror } from '../../src/store/mirror.ts'

test('a limit that other processes share is opened once for each number of requests, and no other limit is', async () => {
  const sandbox = await aSandbox({ customers: [10, 10, 10] })
  const mirror = await openMirror(`${temporaryFolder()}/mirror.db`)
  const rateLimits: RateLimits = new Map()
  const opened: unknown[] = []
  let turns = 0
  const sharedTurns = (name: string, requestsPerMinute: number | undefined) => {
    opened.push([name, requestsPerMinute])
    const next = async () => ((turns += 1), { pausedUntilMs: 0 })
    return { next, pauseUntil: () => {}, shareOf: (remaining: number) => remaining }
  }
  const run = async (id: string, rateLimit: { shared?: string; requestsPerMinute?: number }) => {
    const { report } = await runOrganization(configured(sandbox, { id, rateLimit }), {
      ...{ mirror, trigger: 'sync', rateLimits, sharedTurns, longestWaitMs: 1000 },
      ...{ now: Date.now, monotonicMs: Date.now, random: () => 0, signal: new AbortController().signal },
    })
    return report.requests
  }
  const alone = await run('acme', { requestsPerMinute: 60_000 })
  expect([alone > 0, turns, opened]).toEqual([true, 0, []])
  const requests = [
    await run('globex', { shared: 'vendor', requestsPerMinute: 120 }),
    await run('initech', { shared: 'vendor', requestsPerMinute: 120 }),
    await run('globex', { shared: 'vendor', requestsPerMinute: 240 }),
  ]
  await mirror.close()

  expect(opened).toEqual([
    ['vendor', 120],
    ['vendor', 240],
  ])
  expect(turns).toBe(requests.reduce((sum, count) => sum + count, 0))
})

test('a changed number of requests at once holds from the next run on', async () => {
  const sandbox = await aSandbox({ customers: 10 })
  const rateLimits: RateLimits = new Map()
  for (const concurrency of [2, 8, 3]) {
    const waiting: (() => void)[] = []
    // As many as are expected at once are answered together.
    await using server = await faultServer((...answering) => {
      waiting.push(() => void list(900)(...answering))
      if (waiting.length === concurrency) for (const answer of waiting.splice(0)) answer()
    })
    const organization = { ...configured(sandbox, { concurrency }), baseUrl: server.baseUrl }
    const source = await openConfiguredSource(organization, {
      ...{ rateLimits, longestWaitMs: 1000, now: Date.now, monotonicMs: Date.now, random: () => 0 },
    })
    const read = (_: unknown, index: number) => source.readPage({ page: 1 + (index % 9), size: 100 }, PATIENT)
    await Promise.all(Array.from({ length: 3 * concurrency }, read))
    expect(server.mostInFlight).toBe(concurrency)
    source.close()
  }
})
