import { factsOf, isOurs } from '../../errors/errors.ts'

/** The result of one check. `error` is set if it would prevent a sync; `fix` is what to do. */
export type Finding = Found & {
  what: string
  error?: unknown
  /** Whether the exit code counts it although nothing is wrong: an organization that answered. */
  decides?: boolean
  /** Whether its error concerns every organization, also one that answered. */
  isCommon?: boolean
}

/** What a check that did not fail found. `isWarning`: a sync would work, but this should be fixed. */
export type Found = { said: string; fix?: string; isWarning?: boolean }

/** The finding of a check, also of one that fails. A defect is thrown again. */
export async function find(what: string, check: () => Found | Promise<Found>): Promise<Finding> {
  try {
    return { what, ...(await check()) }
  } catch (error) {
    if (!isOurs(error)) throw error
    return { what, said: error.message, error, fix: factsOf(error).fix }
  }
}

/** Something that works and should be fixed. */
export function warning(said: string, fix: string): Found {
  return { said, fix, isWarning: true }
}
