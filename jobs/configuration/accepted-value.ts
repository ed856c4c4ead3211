import { z } from 'zod'
import { isoTime } from '../../src/time/iso-time.ts'
import { parseValue } from '../queue/shared-values.ts'
import type { Accepted } from './acceptance.ts'

/** The name of the accepted configuration among the values that the workers of a queue share. */
export const ACCEPTED = 'accepted-configuration'

/**
 * The accepted configuration as it is kept in the queue: the hash of its content, since when it is wanted, and when it was accepted.
 * What a later version adds is kept.
 */
const form = z.looseObject({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  changedAt: z.iso.datetime(),
  acceptedAt: z.iso.datetime(),
  /** A number that changes whenever a worker says that it runs on this configuration. */
  renewals: z.number().int().nonnegative().catch(0),
})

export type AcceptedValue = Accepted & { acceptedMs: number; kept: z.output<typeof form> }

/** Undefined where the text is not one of ours. */
export function parseAccepted(text: string): AcceptedValue | undefined {
  const kept = parseValue(form, text)
  if (kept === undefined) return undefined
  const { hash, changedAt, acceptedAt } = kept
  return { hash, changedMs: Date.parse(changedAt), acceptedMs: Date.parse(acceptedAt), kept }
}

/** The text that says that a configuration is accepted, or still is. */
export function acceptedText({ hash, changedMs }: Accepted, before: AcceptedValue | undefined, nowMs: number): string {
  const isSame = before?.hash === hash
  return JSON.stringify({
    ...(isSame && before.kept),
    hash,
    changedAt: isoTime(isSame ? Math.max(changedMs, before.changedMs) : changedMs),
    acceptedAt: isSame ? before.kept.acceptedAt : isoTime(nowMs),
    renewals: isSame ? (before.kept.renewals + 1) % Number.MAX_SAFE_INTEGER : 0,
  })
}
