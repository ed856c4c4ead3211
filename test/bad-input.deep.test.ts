import { describe, expect, test } from 'vitest'
import { refusal } from './support/fault-server.ts'
import { syncTwice } from './support/synced-twice.ts'

describe('an answer that cannot be used ends the run, and the rows stay unchanged', () => {
  test('429 for ever, for which the run waits no longer than maxWait', async () => {
    const throttle = refusal(429, 'rate_limited', 'Slow down.', { 'Retry-After': '1' })
    const { code, run, server } = await syncTwice(throttle, { defaults: { maxWait: '1500ms' } })

    expect({ code, error: run.error?.code }).toEqual({ code: 5, error: 'rate-limited' })
    // The second wait would have gone beyond the limit, so it was not begun.
    expect({ throttled: run.throttled, requests: server.requests.length - 1 }).toEqual({ throttled: 2, requests: 2 })
  })
})
