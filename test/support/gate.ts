import type { SandboxOptions } from '../../src/service/sandbox.ts'

/**
 * Holds back the answers to organization `key` (by API key; to all without one) from page `fromPage` on until it is opened, and
 * those to later pages than `upTo` until it is opened again. `requests` are those that came, held back or not.
 */
export function aGate({ key, fromPage = 1 }: { key?: () => string; fromPage?: number } = {}) {
  const reached = Promise.withResolvers<void>()
  const opening = { upTo: 0, changed: Promise.withResolvers<void>() }
  let requests = 0
  const intercept: NonNullable<SandboxOptions['intercept']> = async (context, next) => {
    const isMeant = key === undefined || context.req.header('X-API-Key') === key()
    if (isMeant) requests += 1
    const page = Number(context.req.query('page'))
    if (isMeant && page >= fromPage) {
      reached.resolve()
      while (page > opening.upTo) await opening.changed.promise
    }
    await next()
  }
  return {
    intercept,
    /** The first request that is held back has come. */
    reached: reached.promise,
    get requests() {
      return requests
    },
    open(upTo = Infinity) {
      opening.upTo = upTo
      opening.changed.resolve()
      opening.changed = Promise.withResolvers()
    },
  }
}
