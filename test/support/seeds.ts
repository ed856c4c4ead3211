import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether every example is drawn, as by `npm run test:deep`, or a tenth of them, as by `npm test`. */
    isDeep: boolean
    /** The part of the examples that a deep run draws. */
    deepShare: number
  }
}

/**
 * How many examples a test draws, or how many simulated lists it plays: in a deep run all of them, or the part that
 * CUSTOMER_MIRROR_TEST_DEEP says, else a tenth, or the part that `every` says; and at least `least`. Examples come from fixed seeds in a fixed order, so that the tenth is the beginning of the whole.
 */
export function seeds(
  all: number,
  { least = 10, every = 10, isDeep = inject('isDeep'), deepShare = inject('deepShare') } = {},
): number {
  return Math.min(all, Math.max(least, Math.ceil(isDeep ? all * deepShare : all / every)))
}

/**
 * The cases of a long table that are tried: all of them in a deep run, else the first, the last, and every third between them, or every
 * so many that `every` says.
 */
export function someOf<const Case>(all: readonly Case[], { every = 3, isDeep = inject('isDeep') } = {}): Case[] {
  return all.filter((_, index) => isDeep || index % every === 0 || index === all.length - 1)
}
