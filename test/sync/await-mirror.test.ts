import { expect, test } from 'vitest'
import { MirrorUnusable } from '../../src/errors/errors.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { awaitMirror, openAwaited, type Patience } from '../../src/sync/await-mirror.ts'
import { aMirror } from '../support/mirror-file.ts'
import { START_MS } from '../support/builders.ts'

const GONE = new MirrorUnusable('made up', { code: 'gone' })
const START = { organization: 'acme', trigger: 'sync', nowMs: START_MS } as const

test('a verb waits until the server of the mirror answers, and asks with the same arguments', async () => {
  const { mirror, asked, waits } = await aMirrorThat([GONE, GONE, GONE])

  const run = await mirror.startRun(START)

  expect(run.organization).toBe('acme')
  expect(asked).toHaveLength(4)
  expect(new Set(asked)).toEqual(new Set([START]))
  expect(waits).toEqual([500, 1000, 2000])
})

test('a server that stays away longer than maxWait ends the run, and later verbs ask once', async () => {
  const gone = Array.from({ length: 99 }, () => GONE)
  const { mirror, asked, waits } = await aMirrorThat(gone, { longestWaitMs: 10_000 })

  await expect(mirror.startRun(START)).rejects.toBe(GONE)
  expect(waits).toEqual([500, 1000, 2000, 4000])
  const before = asked.length
  await expect(mirror.startRun(START)).rejects.toBe(GONE)

  expect(asked.length - before).toBeLessThanOrEqual(3)
})

test.each(['busy', 'full', 'replaced', 'damaged'] as const)('a mirror that is %s is not waited for', async (code) => {
  const error = new MirrorUnusable('made up', { code })
  const { mirror, waits } = await aMirrorThat([error])

  await expect(mirror.startRun(START)).rejects.toBe(error)
  expect(waits).toEqual([])
})

test('a run that is stopped waits no longer, and says why it could not go on', async () => {
  const stop = new AbortController()
  const stopping = { signal: stop.signal, onWait: () => stop.abort(), sleep: undefined }
  const { mirror } = await aMirrorThat([GONE, GONE], stopping)

  await expect(mirror.startRun(START)).rejects.toBe(GONE)
})

test('a mirror is opened once its server is there, and the wait is reported once, with the longest maxWait', async () => {
  const real = await aMirror()
  const failures = [GONE, GONE]
  const reported: unknown[] = []
  const open = async () => {
    const failure = failures.shift()
    if (failure !== undefined) throw failure
    return real
  }

  const opened = await openAwaited(open, {
    organizations: [{ maxWaitMs: 0 }, { maxWaitMs: 60_000 }],
    monotonicMs: () => 0,
    random: () => 1,
    signal: new AbortController().signal,
    sleep: async () => {},
    onAway: (...away) => reported.push(away),
  })

  expect(opened).toBe(real)
  expect(reported).toEqual([[GONE, 60_000]])
})

/** A mirror that first fails with these errors, by a clock that moves only while it waits. */
async function aMirrorThat(failures: unknown[], patience: Partial<Patience> = {}) {
  const real = await aMirror()
  const asked: unknown[] = []
  const waits: number[] = []
  let nowMs = 0
  const failing: Mirror = {
    ...real,
    startRun: async (start) => {
      asked.push(start)
      const failure = failures.shift()
      if (failure !== undefined) throw failure
      return await real.startRun(start)
    },
  }
  const mirror = awaitMirror(failing, {
    ...{ longestWaitMs: 60_000, monotonicMs: () => nowMs, random: () => 1, signal: new AbortController().signal },
    onWait: (waitMs) => waits.push(waitMs),
    sleep: async (ms) => {
      nowMs += ms
    },
    ...patience,
  })
  return { mirror, asked, waits }
}
