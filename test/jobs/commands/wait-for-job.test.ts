import { expect, test } from 'vitest'
import { endOfJob, errorFrom, type WaitNews } from '../../../jobs/commands/run-and-wait.ts'
import { exitCodeOf } from '../../../src/cli/exit-code.ts'

const never = () => new Promise<never>(() => {})

test('a job is waited for through its waits, and its end is that of the queue', async () => {
  const { news, wait } = aWait(['waiting', 'active', 'delayed', 'delayed', 'active', 'failed'], {
    failedReason: 'network: made up',
  })

  expect(await wait()).toEqual({ end: 'failed', reason: 'network: made up' })
  expect(news).toEqual([{ news: 'delayed', reason: 'network: made up' }])
})

test('a job that no worker takes is reported once, and still waited for', async () => {
  const { news, wait } = aWait(['waiting', 'waiting', 'waiting', 'waiting', 'completed'], { returnvalue: { pages: 1 } })

  expect(await wait({ notTakenMs: 100 })).toEqual({ end: 'completed', counts: { pages: 1 } })
  expect(news).toEqual([{ news: 'not-taken' }])
})

test('a queue that is lost is reported once, and waited for until it answers', async () => {
  const { news, wait } = aWait(['active', 'refused', 'refused', 'active', 'completed'], {})

  expect(await wait()).toEqual({ end: 'completed', counts: {} })
  expect(news).toEqual([{ news: 'queue-lost' }, { news: 'queue-back' }])
})

test('a queue that never answers is reported, and the wait can be ended', async () => {
  const stop = new AbortController()
  const { news, wait } = aWait(['hangs'], {}, () => stop.abort())

  expect(await wait({ lostMs: 1, signal: stop.signal })).toEqual({ end: 'left' })
  expect(news).toEqual([{ news: 'queue-lost' }])
})

/** A job that is in these states, one at each look. Each look takes 50 ms of a made-up clock. */
function aWait(states: string[], job: object | undefined, onNews = () => {}) {
  const news: WaitNews[] = []
  let nowMs = 0
  const getJobState = async () => {
    const state = states.shift() ?? 'unknown'
    nowMs += 50
    if (state === 'refused') throw new Error('refused')
    return state === 'hangs' ? never() : state
  }
  const queue = Object({ getJobState, getJob: async () => job })
  const wait = (change = {}) =>
    endOfJob(queue, 'acme.1', {
      signal: new AbortController().signal,
      onNews: (each) => {
        news.push(each)
        onNews()
      },
      monotonicMs: () => nowMs,
      lookMs: 1,
      ...change,
    })
  return { news, wait }
}

test.each([
  ['of the service', 'unauthorized: acme: refused', 4],
  ['of an outage', 'network: acme: unreachable', 5],
  ['of a cancel', 'cancelled: acme: cancelled', 3],
  ['unexpected', 'unexpected: see the log of the worker', 1],
  ['of the queue itself', 'job stalled more than allowable limit', 5],
])('a failure %s ends with the exit code that sync has for it', (_what, reason, code) => {
  expect(exitCodeOf(errorFrom('acme', reason))).toBe(code)
})
