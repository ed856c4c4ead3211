import type { MiddlewareHandler } from 'hono'

/** Headers in which an answer states its age, or how long it may be kept. */
const ABOUT_AGE = ['Cache-Control', 'Age', 'Expires']

/**
 * The headers of all our answers: browsers must not guess the type or show the answer in another page, and caches must not keep it
 * unless the answer allows it.
 */
export const addHeaders: MiddlewareHandler = async (context, next) => {
  await next()
  const saysItsAge = ABOUT_AGE.some((name) => context.res.headers.has(name))
  for (const [name, value] of Object.entries(saysItsAge ? SAFE : UNKEPT)) context.header(name, value)
}

const SAFE = { 'X-Content-Type-Options': 'nosniff', 'X-Frame-Options': 'DENY' }

/** The same for an answer that no cache may keep. */
export const UNKEPT = { ...SAFE, 'Cache-Control': 'no-store' }
