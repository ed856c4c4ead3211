import { expect, test } from 'vitest'
import { createEventLog } from '../../../jobs/monitoring/listener.ts'

test('the waits of runs for a mirror whose server is away are logged once a minute, and other events each time', () => {
  const lines: object[] = []
  let nowMs = 0
  const logEvent = createEventLog(Object({ info: (facts: object) => lines.push(facts) }), () => nowMs)
  const away = { kind: 'waiting', reason: 'mirror-gone', waitMs: 10_000, untilMs: 0 } as const
  const throttled = { ...away, reason: 'rate-limited' } as const
  for (nowMs = 0; nowMs <= 60_000; nowMs += 10_000)
    for (const organization of ['acme', 'globex']) logEvent(organization, away)
  for (const organization of ['acme', 'globex']) logEvent(organization, throttled)

  expect(lines).toEqual([
    { organization: 'acme', event: away },
    { organization: 'acme', event: away, leftOut: 11 },
    { organization: 'acme', event: throttled },
    { organization: 'globex', event: throttled },
  ])
})
