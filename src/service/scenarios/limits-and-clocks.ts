import type { Scenario } from './scenario.ts'

/** The list is at rest and every answer is true, but the service limits or refuses requests. */
export const LIMITS_AND_CLOCKS: readonly Scenario[] = [
  {
    name: 'throttle',
    says: 'Each organization may make five requests a second, and is answered 429 with Retry-After beyond that.',
    service: { rateLimit: { requests: 5, windowMs: 1000 } },
  },
  {
    name: 'shared-throttle',
    says: 'All organizations together may make five requests a second, and are answered 429 with Retry-After beyond that.',
    service: { sharedRateLimit: { requests: 5, windowMs: 1000 } },
  },
  {
    name: 'clock-skew',
    says: 'The clock of the service is ten minutes ahead, and requests signed by any other clock are refused.',
    service: { clockAheadMs: 600_000 },
  },
]
