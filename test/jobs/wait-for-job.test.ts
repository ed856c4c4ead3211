import { expect, test } from 'vitest'
import { endOfJob, errorFrom, type WaitNews } from '../../jobs/commands/run-and-wait.ts'
import { exitCodeOf } from '../../src/cli/exit-code.ts'

const END = { end: 'failed', reason: 'network: made up' } as const

test.each<[what: string, states: string[], news: WaitNews[]]>([
  ['a wait', ['waiting', 'active', 'delayed', 'delayed', 'active'], [{ news: 'delayed', reason: END.reason }]],
  ['no worker that takes it', ['waiting', 'waiting', 'waiting', 'waiting'], [{ news: 'not-taken' }]],
  [
    'a queue that is lost',
    ['active', 'refused', 'refused', 'active'],
    [{ news: 'queue-lost' }, { news: 'queue-back' }],
  ],
  ['a queue that never answers', ['active', 'hangs'], [{ news: 'queue-lost' }, { news: 'queue-back' }]],
])(
  'a job is waited for through %s, which is said once, and its end is that of the queue',
  async (_what, states, said) => {
    const news: WaitNews[] = []
    let nowMs = 0
    const left = [...states, 'failed']
    const getJobState = async () => {
      const state = left.shift()
      nowMs += 50
      if (state === 'refused') throw new Error('refused')
      return state === 'hangs' ? new Promise<never>(() => {}) : state
    }
    const queue = Object({ getJobState, getJob: async () => ({ failedReason: END.reason }) })
    const clock = { monotonicMs: () => nowMs, lookMs: 1, notTakenMs: 100, lostMs: 20 }
    const { signal } = new AbortController()

    expect(await endOfJob(queue, 'acme.1', { ...clock, signal }, (each) => void news.push(each))).toEqual(END)
    expect(news).toEqual(said)
  },
)

test.each([
  ['of the service', 'unauthorized: acme: refused', 4],
  ['of an outage', 'network: acme: unreachable', 5],
  ['of a cancel', 'cancelled: acme: cancelled', 3],
  ['unexpected', 'unexpected: see the log of the worker', 1],
  ['of the queue itself', 'job stalled more than allowable limit', 5],
])('a failure %s ends with the exit code that sync has for it', (_what, reason, code) => {
  expect(exitCodeOf(errorFrom('acme', reason))).toBe(code)
})
