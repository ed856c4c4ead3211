import type { Handler } from 'hono'

/** Refuses every method but GET and HEAD, at an address that answers these: put it behind their handler, for all methods. */
export const onlyReads: Handler = (context) =>
  context.json({ error: `${context.req.path} can be read and nothing else: use GET.` }, 405, { Allow: 'GET, HEAD' })
