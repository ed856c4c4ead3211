import type { Env, Hono } from 'hono'

/** Whether a program does its work, and what is wrong where it does not. */
export type Readiness = { ready: boolean; problems: string[] }

/** `/healthz` answers while the process lives; `/readyz` answers what `examine` finds, with 503 where it is not ready. */
export function addHealth<E extends Env>(app: Hono<E>, examine: () => Promise<Readiness> = isReady): void {
  app.get('/healthz', (context) => context.json({ alive: true }))
  app.get('/readyz', async (context) => {
    const readiness = await examine()
    return context.json(readiness, readiness.ready ? 200 : 503)
  })
}

/** A program that is ready as soon as it listens. */
async function isReady(): Promise<Readiness> {
  return { ready: true, problems: [] }
}
