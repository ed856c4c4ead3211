import { isOurs, MirrorUnusable } from '../../errors/errors.ts'
import { explainFailure } from '../output/explain-failure.ts'

/** The result of one check. `error` is set if it would prevent a sync; `fix` is what to do. */
export type Finding = {
  what: string
  said: string
  error?: unknown
  fix?: string | undefined
  /** Whether a sync would work, but this should be fixed. */
  isWarning?: boolean
  /** Whether the exit code counts it although nothing is wrong: an organization that answered. */
  decides?: boolean
  /** Whether its error concerns every organization, also one that answered. */
  isCommon?: boolean
  /** Whether later checks cannot read what it is about. */
  isUnreadable?: boolean
}

/** Throws MirrorUnusable for a mirror with these damages, which names some of them; `mirror` is its address without secrets. */
export function requireSound(mirror: string, damages: readonly string[]): void {
  if (damages.length > 0)
    throw new MirrorUnusable(`${mirror}: is damaged: ${damages.slice(0, 3).join('; ')}`, { code: 'damaged' })
}

/** The finding of a check that failed with this error. A defect is thrown again. */
export function failedCheck(what: string, error: unknown): Finding {
  if (!isOurs(error)) throw error
  return { what, said: error.message, error, fix: explainFailure(error).fix }
}
