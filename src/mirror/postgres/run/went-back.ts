import { MirrorUnusable } from '../../../errors/errors.ts'
import type { Run } from '../../../run.ts'

/**
 * Throws MirrorUnusable `replaced` unless the server still has every page that it said it had saved. It has not if a standby took
 * over without the last transactions, if it was put back from a backup, or if it crashed with synchronous_commit = off. Row numbers
 * that the run knows may then be those of other customers.
 */
export function requirePages(
  stored: number | undefined,
  saved: number,
  { organization }: Pick<Run, 'organization'>,
): void {
  if (stored !== saved) throw wentBack(organization)
}

/** The error of a run to which the server lost what it had saved. */
export function wentBack(organization: string): MirrorUnusable {
  return new MirrorUnusable(
    `${organization}: the server of the mirror went back to an earlier state while the run was under way, so pages that it had saved ` +
      'are gone: a standby took over without them, it crashed with synchronous_commit = off, or a backup was put back. Nothing was ' +
      'concluded from them. Sync again.',
    { code: 'replaced' },
  )
}
