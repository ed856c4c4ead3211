import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether this is a deep run, `npm run test:deep`. */
    isDeep: boolean
    /** The part of the examples that a deep run draws. */
    deepShare: number
  }
}

/** How many examples of a fixed order are drawn: in a deep run all, or CUSTOMER_MIRROR_TEST_DEEP of them, else one in `every`. */
export function seeds(all: number, { least = 10, every = 10 } = {}): number {
  return Math.min(all, Math.max(least, Math.ceil(inject('isDeep') ? all * inject('deepShare') : all / every)))
}

/** The cases of a long table that are tried: all of them in a deep run, else the first, the last, and one in `every` between them. */
export function someOf<const Case>(all: readonly Case[], { every = 3 } = {}): Case[] {
  return all.filter((_, index) => inject('isDeep') || index % every === 0 || index === all.length - 1)
}
