import { expect, test } from 'vitest'
import type { Sleep } from '../../src/machine/timers.ts'
import { RateLimit } from '../../src/source/rate-limit.ts'
import { virtualTime } from './a-source.ts'

const PATIENT = { signal: new AbortController().signal }

/** Tasks that stay in flight until they are let go. */
function gates(rateLimit: RateLimit, count: number) {
  const started: number[] = []
  const releases: (() => void)[] = []
  const turns = Array.from({ length: count }, (_, index) =>
    rateLimit.admit(() => {
      started.push(index)
      return new Promise<number>((resolve) => releases.push(() => resolve(index)))
    }, PATIENT),
  )
  return { started, releases, turns }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
}

test('starts are spread evenly over the minute', async () => {
  const time = virtualTime(0)
  const rateLimit = new RateLimit({ concurrency: 4, requestsPerMinute: 60, ...time })
  const starts: number[] = []
  await Promise.all(Array.from({ length: 5 }, () => rateLimit.admit(async () => starts.push(time.now()), PATIENT)))
  expect(starts).toEqual([0, 1010, 2020, 3030, 4040])
})

/** When requests start that all come at once, where the first one that waits sleeps so much longer than it asked for. */
async function startsOf(count: number, oversleptMs = 0): Promise<number[]> {
  const time = virtualTime(0)
  let lateMs = oversleptMs
  const sleep: Sleep = async (ms, signal) => {
    const sleptMs = ms + lateMs
    lateMs = 0
    await time.sleep(sleptMs, signal)
  }
  const rateLimit = new RateLimit({ concurrency: 16, requestsPerMinute: 60, ...time, sleep })
  const starts: number[] = []
  await Promise.all(Array.from({ length: count }, () => rateLimit.admit(async () => starts.push(time.now()), PATIENT)))
  return starts
}

test('a process that was frozen makes up for none of the moments that it slept through', async () => {
  expect(await startsOf(6, 30_000)).toEqual([0, 31_010, 32_020, 33_030, 34_040, 35_050])
})

test('a process that was busy for a moment keeps the pace', async () => {
  expect(await startsOf(4, 200)).toEqual([0, 1210, 2020, 3030])
})

test('a task that was stopped while it waited is not run and frees its place', async () => {
  const rateLimit = new RateLimit({ concurrency: 1, ...virtualTime() })
  const { releases } = gates(rateLimit, 1)
  await settle()
  const stopping = new AbortController()
  let ran = false
  const task = async (): Promise<void> => void (ran = true)
  const turn = rateLimit.admit(task, { ...PATIENT, stop: stopping.signal })
  stopping.abort(new Error('stop'))
  releases[0]?.()
  await expect(turn).rejects.toThrow('stop')
  expect(ran).toBe(false)
  expect(await rateLimit.admit(async () => 'next', PATIENT)).toEqual({ paused: false, value: 'next' })
})
