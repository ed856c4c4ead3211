import type { Recipe } from './signing/signing.ts'

/** The settings of requests to one service. */
export type SourceSettings = {
  /** Ends in `/api/v1`. https, or http on loopback. */
  baseUrl: URL
  signing: Recipe
  /** For one whole exchange. */
  requestTimeoutMs: number
  /** Requests at once. With a shared rateLimit, of this source alone. */
  concurrency: number
  /** The longest stretch without any successful answer. */
  maxWaitMs: number
  /** A single wait longer than this is thrown as `RateLimited` or `SourceUnavailable` instead of waited for. */
  longestWaitMs: number
  /** With a shared rateLimit, the rateLimit's own number counts. */
  requestsPerMinute?: number | undefined
  /** Tries in all for a request that fails without naming a wait. Default 5. */
  attempts?: number | undefined
  /** Decoded bytes of one answer. Default 16 MiB. */
  maxBodyBytes?: number | undefined
  /** Whether errors repeat what the service said about other things than key and signature (401): it may be a value. Default true. */
  quotesAnswers?: boolean | undefined
  /** The id of the organization in the commands that errors name; without it, a placeholder. */
  organization?: string | undefined
}
