import { z } from 'zod'
import { LEAST_OF_SHARE, type QuickLimit } from '../../quick-limit.ts'

const MOST = 1_000_000
const REQUESTS = `must be a share of a full scan such as 5%, or a whole number of requests from 1 to ${MOST}`
const SHARE = 'must be a share of a full scan from 0.1% to 100%, such as 5%'

const requests = z.int(REQUESTS).min(1, REQUESTS).max(MOST, REQUESTS)

const share = z
  .string(REQUESTS)
  .regex(/^\d{1,3}(\.\d{1,3})? ?%$/, { error: REQUESTS, abort: true })
  .refine((text) => percent(text) >= 0.1 && percent(text) <= 100, SHARE)

/** The setting where the configuration has none. */
const DEFAULT_SHARE = '5%'

/** What a quick run may cost, in the configuration. */
export const quick = z.strictObject(
  {
    maxRequests: z
      .union([requests, share], REQUESTS)
      .exactOptional()
      .meta({
        description: `The most requests of one quick run: a share of those of a full scan, and at least ${LEAST_OF_SHARE}; or a number.`,
        default: DEFAULT_SHARE,
        examples: ['5%', 100],
      }),
  },
  {
    error: ({ code, input }) =>
      code === 'invalid_type' && typeof input === 'string'
        ? 'must be a mapping such as { maxRequests: 5% }; the times of quick runs belong under schedule, as quick'
        : undefined,
  },
)

type Written = z.output<typeof quick>

/** The limit of an organization: its own, then the shared one, then the built-in one. */
export function quickLimit(shared: Written | undefined, own: Written | undefined): QuickLimit {
  const { maxRequests = DEFAULT_SHARE } = { ...shared, ...own }
  return typeof maxRequests === 'number' ? { requests: maxRequests } : { share: percent(maxRequests) / 100 }
}

function percent(text: string): number {
  return Number(text.replace('%', ''))
}
