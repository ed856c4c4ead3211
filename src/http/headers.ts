import type { MiddlewareHandler } from 'hono'

/** Headers with which an answer says itself how old it is, or may become. */
const ABOUT_AGE = ['Cache-Control', 'Age', 'Expires']

/**
 * What every answer of ours carries: no browser may guess its type or show it inside another page, and no cache may keep it
 * unless it says so itself.
 */
export const addHeaders: MiddlewareHandler = async (context, next) => {
  await next()
  const saysItsAge = ABOUT_AGE.some((name) => context.res.headers.has(name))
  for (const [name, value] of Object.entries(saysItsAge ? SAFE : UNKEPT)) context.header(name, value)
}

const SAFE = { 'X-Content-Type-Options': 'nosniff', 'X-Frame-Options': 'DENY' }

/** The same for an answer that no cache may keep. */
export const UNKEPT = { ...SAFE, 'Cache-Control': 'no-store' }
