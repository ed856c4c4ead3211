import { createHmac } from 'node:crypto'
import type { Mirror } from '../../src/model/mirror.ts'
import { type PrivacyPolicy, privacyPolicy } from '../../src/privacy/privacy-policy.ts'
import { type Mirroring, mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { customerId, MINUTE_MS, START_MS } from './builders.ts'
import { listedSource, mirroring } from './listed-source.ts'
import { rowsOf } from './mirror-file.ts'
import { storedText } from './mirror-reader.ts'

/** The key of the policies. */
export const KEY = 'a made-up key of more than thirty-two characters'

/** A key that takes its place. */
export const OTHER_KEY = 'another made-up key of more than 32 characters'

/** A policy that drops two fields and hashes two. */
export const POLICY = privacyPolicy({ drop: ['address', 'fax'], hash: ['phone', 'vip'], key: KEY })

/** A value as a policy with this key stores it. */
export function hmac(text: string, key = KEY): string {
  return `hmac:${createHmac('sha256', key).update(text).digest('hex')}`
}

let night = 0

/** One run over this list, an hour after the one before. */
export async function mirrorList(
  mirror: Mirror,
  list: readonly unknown[],
  privacy?: PrivacyPolicy,
  overrides: Partial<Mirroring> = {},
) {
  night += 1
  const nowMs = START_MS + night * 60 * MINUTE_MS
  const source = listedSource(list)
  return mirrorOrganization(mirroring(mirror, source, { scan: 'chain', privacy, now: () => nowMs, ...overrides }))
}

/** The mirror, and a stop that is asked for while a run's first step rewrites what the policy hides. */
export function stoppedWhileItRewrites(mirror: Mirror): { stopping: Mirror; signal: AbortSignal } {
  const stopped = new AbortController()
  const applyPrivacy: Mirror['applyPrivacy'] = (run, nowMs) => {
    stopped.abort()
    return mirror.applyPrivacy(run, nowMs)
  }
  return { stopping: { ...mirror, applyPrivacy }, signal: stopped.signal }
}

/** Those of these texts that stand anywhere in the mirror. */
export function textsIn(file: string, texts: readonly string[]): string[] {
  const stored = storedText(file)
  return texts.filter((text) => stored.includes(Buffer.from(text).toString('latin1')))
}

/** The changes of the mirror, in order. */
export function changesOf(mirror: Mirror) {
  return rowsOf(mirror.file, 'SELECT id, change, fields FROM changes ORDER BY seq')
}

/** The row of the nth customer. */
export function rowOf(mirror: Mirror, n: number) {
  return rowsOf(mirror.file, 'SELECT * FROM customers WHERE id = ?', customerId(n))[0]
}

/** What is left to do of policies. */
export async function unapplied(mirror: Mirror) {
  const policies = await mirror.listPrivacy()
  return policies.flatMap(({ organization, left }) => (left === 'nothing' ? [] : [{ organization, left }]))
}
