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

/** Something that should be fixed in a mirror that works. */
type Warning = { said: string; fix: string }

/** What a mirror is, with what should be fixed there. */
export function soundFinding(said: string, warnings: readonly (Warning | undefined)[]): Finding {
  const found = warnings.filter((warning) => warning !== undefined)
  if (found.length === 0) return { what: 'mirror', said }
  return {
    what: 'mirror',
    said: [said, ...found.map((warning) => warning.said)].join('; '),
    fix: found.map(({ fix }) => fix).join(' '),
    isWarning: true,
  }
}

/** What is said of what someone added to a mirror; undefined where that is nothing. */
export function additionsFinding(added: readonly string[]): Warning | undefined {
  if (added.length === 0) return undefined
  return {
    said: `someone added or changed there what may refuse a run: ${added.slice(0, 5).join(', ')}${added.length > 5 ? ', …' : ''}`,
    fix: 'Drop what nothing needs; a run that it refuses ends as foreign, and names it.',
  }
}

/** The finding of a check that failed with this error. A defect is thrown again. */
export function failedCheck(what: string, error: unknown): Finding {
  if (!isOurs(error)) throw error
  return { what, said: error.message, error, fix: explainFailure(error).fix }
}
