import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { addHealth, type Readiness } from '../../src/http/server.ts'
import { createService } from '../../src/service/app.ts'
import { DEFAULT_PRESET, recipeOf } from '../../src/signing/signing.ts'

test.each<[string, number, Readiness]>([
  ['does its work', 200, { ready: true, problems: [] }],
  ['does not', 503, { ready: false, problems: ['the queue cannot be reached'] }],
])('a program that %s answers /readyz with %d and what it found, and is alive', async (_, status, readiness) => {
  const app = new Hono()
  addHealth(app, async () => readiness)

  const ready = await app.request('/readyz')

  expect({ status: ready.status, body: await ready.json() }).toEqual({ status, body: readiness })
  expect(await (await app.request('/healthz')).json()).toEqual({ alive: true })
})

test('the sandbox is asked how it is like the worker: at once, without a signature', async () => {
  const recipe = recipeOf(DEFAULT_PRESET)
  const service = createService({ organizations: [], recipe, now: Date.now, latencyMs: 600_000 })

  expect(await (await service.request('/healthz')).json()).toEqual({ alive: true })
  expect(await (await service.request('/readyz')).json()).toEqual({ ready: true, problems: [] })
})

test.each(['/healthz', '/readyz'])('%s can be read and nothing else', async (path) => {
  const app = new Hono()
  addHealth(app)

  const refused = await app.request(path, { method: 'POST' })

  expect({ status: refused.status, allow: refused.headers.get('Allow') }).toEqual({ status: 405, allow: 'GET, HEAD' })
  expect(await refused.json()).toEqual({ error: `${path} can be read and nothing else: use GET.` })
  expect((await app.request(path, { method: 'HEAD' })).status).toBe(200)
})
