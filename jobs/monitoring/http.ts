import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { listen, type Listening } from '../../src/service/listen.ts'
import type { Readiness } from './health.ts'

export type Watched = {
  examine(): Promise<Readiness>
  metrics(): Promise<string>
  /** Pages to look at the queues, under `/queues`. */
  board: Hono | undefined
}

/** Serves what monitors ask for. Throws UsageError when the port cannot be had. */
export async function serveHttp(watched: Watched, address: { host: string; port: number }): Promise<Listening> {
  const app = new Hono()
  app.get('/healthz', (context) => context.json({ alive: true }))
  app.get('/readyz', async (context) => {
    const readiness = await watched.examine().catch(() => ({ ready: false, problems: ['the mirror cannot be read'] }))
    return context.json(readiness, readiness.ready ? 200 : 503)
  })
  app.get('/metrics', async (context) => {
    const text = await watched.metrics()
    return context.text(text, 200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' })
  })
  if (watched.board !== undefined) app.route(BOARD_PATH, watched.board)
  app.onError((error, context) =>
    error instanceof HTTPException ? error.getResponse() : context.json({ error: 'This could not be looked up.' }, 500),
  )
  return listen(app, address)
}

export const BOARD_PATH = '/queues'
