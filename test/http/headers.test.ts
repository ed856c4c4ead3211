import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { expect, test } from 'vitest'
import { addHeaders } from '../../src/http/server.ts'

test.each([
  ['an answer', '/', 200],
  ['an answer that there is nothing', '/nowhere', 404],
  ['a failure', '/defect', 500],
  ['a refusal', '/refused', 401],
])('%s is of the type it says, stands in no other page, and is kept by no cache', async (_, path, status) => {
  const answer = await anApp().request(path)

  expect(answer.status).toBe(status)
  expect(headersOf(answer)).toEqual({ sniffing: 'nosniff', framing: 'DENY', caching: 'no-store' })
})

test.each([
  ['Age', '/aged', null],
  ['Cache-Control', '/kept', 'max-age=60'],
])('an answer with a %s of its own says for itself how long it may be kept', async (_, path, caching) => {
  expect(headersOf(await anApp().request(path))).toEqual({ sniffing: 'nosniff', framing: 'DENY', caching })
})

function anApp(): Hono {
  const app = new Hono()
  app.use(addHeaders)
  app.get('/', (context) => context.json({}))
  app.get('/aged', (context) => context.json({}, 200, { Age: '7' }))
  app.get('/kept', (context) => context.json({}, 200, { 'Cache-Control': 'max-age=60' }))
  app.get('/defect', () => {
    throw new Error('a defect')
  })
  app.get('/refused', () => {
    throw new HTTPException(401)
  })
  app.onError((error, context) =>
    error instanceof HTTPException ? error.getResponse() : context.json({ error: 'failed' }, 500),
  )
  return app
}

function headersOf({ headers }: Response) {
  return {
    sniffing: headers.get('X-Content-Type-Options'),
    framing: headers.get('X-Frame-Options'),
    caching: headers.get('Cache-Control'),
  }
}
