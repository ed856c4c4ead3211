import type { Env, Hono } from 'hono'
import { onlyReads } from './only-reads.ts'

/** Whether a program does its work, and the problems if it does not. */
export type Readiness = { ready: boolean; problems: string[] }

/** `/healthz` answers while the process is alive; `/readyz` returns the result of `examine`, with 503 if not ready. */
export function addHealth<E extends Env>(app: Hono<E>, examine: () => Promise<Readiness> = isReady): void {
  app.get('/healthz', (context) => context.json({ alive: true }))
  app.get('/readyz', async (context) => {
    const readiness = await examine()
    return context.json(readiness, readiness.ready ? 200 : 503)
  })
  for (const path of ['/healthz', '/readyz']) app.all(path, onlyReads)
}

/** The readiness of a program that is ready as soon as it listens. */
async function isReady(): Promise<Readiness> {
  return { ready: true, problems: [] }
}
