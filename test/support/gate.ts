import type { SandboxOptions } from '../../src/service/sandbox.ts'

/** Delays the answers to some requests until it is opened. */
export type Gate = {
  intercept: NonNullable<SandboxOptions['intercept']>
  /** The first request that was held back has arrived. */
  reached: Promise<void>
  /** Requests that arrived, held back or not. */
  readonly requests: number
  /** Later pages than `upTo` are still held back, until it is opened again. */
  open(upTo?: number): void
}

/** A gate for the pages of organization `key` (by API key; all organizations without one) from page `fromPage` on. */
export function aGate({ key, fromPage = 1 }: { key?: () => string; fromPage?: number } = {}): Gate {
  const reached = Promise.withResolvers<void>()
  const opening = { upTo: 0, changed: Promise.withResolvers<void>() }
  let requests = 0
  return {
    reached: reached.promise,
    get requests() {
      return requests
    },
    open(upTo = Infinity) {
      opening.upTo = upTo
      opening.changed.resolve()
      opening.changed = Promise.withResolvers()
    },
    intercept: async (context, next) => {
      const isMeant = key === undefined || context.req.header('X-API-Key') === key()
      if (isMeant) requests += 1
      const page = Number(context.req.query('page'))
      if (isMeant && page >= fromPage) {
        reached.resolve()
        while (page > opening.upTo) await opening.changed.promise
      }
      await next()
    },
  }
}
