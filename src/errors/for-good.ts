import { factsOfCode } from './error-facts.ts'

/**
 * Refusals and mistakes that a person has to fix. Errors of the mirror are not among them (a retry costs no request), nor cancels, nor
 * what a worker of a newer version can do.
 */
export function isForGood(errorCode: string): boolean {
  const { again, from } = factsOfCode(errorCode)
  return again === 'never' && from !== 'mirror' && from !== 'other-version' && from !== 'cancel'
}
