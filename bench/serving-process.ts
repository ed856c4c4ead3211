import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Database from 'better-sqlite3'
import { listen } from '../src/http/server.ts'
import { monotonicMs } from '../src/machine/timers.ts'
import { TEXT_FIELDS } from '../src/model/customer.ts'
import { createServe } from '../src/serve/serve.ts'
import { serveMirror } from '../src/serve/served-mirror.ts'
import { DEFAULT_PRESET, recipeOf } from '../src/signing/signing.ts'
import { CREDENTIALS } from './messages.ts'

/* Serves a mirror, by `serve` or by hand, until the process that started it is gone: `node serving-process.ts serve|by-hand FILE`. */

const [, , program, file = ''] = process.argv
process.once('disconnect', () => process.exit())
process.send?.(program === 'serve' ? await serve() : await byHand())

async function serve(): Promise<string> {
  const recipe = recipeOf(DEFAULT_PRESET)
  const app = createServe({
    readers: [{ name: 'reader', organizations: ['org-1'], ...CREDENTIALS, recipe }],
    organizations: ['org-1'],
    mirror: serveMirror(file),
    log: { info: () => {}, warn: () => {} },
    nowMs: Date.now,
    monotonicMs,
  })
  return (await listen(app, { host: '127.0.0.1', port: 0 })).origin
}

/** What a good engineer writes in an afternoon: prepared statements, an index for the order, and the same signature. */
async function byHand(): Promise<string> {
  const db = new Database(file)
  db.exec('CREATE INDEX IF NOT EXISTS by_hand ON customers (organization, removed_at, created_at_utc, id)')
  const active = `FROM customers WHERE organization = 'org-1' AND removed_at IS NULL`
  const found = `${active} AND (name LIKE ? OR username LIKE ? OR email LIKE ?)`
  const page = (from: string) =>
    db.prepare(`SELECT id, ${TEXT_FIELDS.join(', ')} ${from} ORDER BY created_at_utc, id LIMIT ? OFFSET ?`)
  const count = (from: string) => db.prepare<unknown[], number>(`SELECT count(*) ${from}`).pluck()
  const [all, some] = [active, found].map((from) => ({ page: page(from), count: count(from) }))
  const server = createServer((request, response) => {
    const { 'x-timestamp': time, 'x-signature': given = '' } = request.headers
    const text = `${request.method}\n${request.url}\n${String(time)}\n`
    const signature = createHmac('sha256', CREDENTIALS.secret).update(text).digest('hex')
    if (given.length !== signature.length || !timingSafeEqual(Buffer.from(String(given)), Buffer.from(signature))) {
      response.writeHead(401).end()
      return
    }
    const { searchParams, origin, pathname } = new URL(request.url ?? '', `http://${request.headers.host}`)
    const [number, size] = [Number(searchParams.get('page') ?? 1), Number(searchParams.get('per_page') ?? 15)]
    const search = searchParams.get('search')
    const statements = search === null ? all : some
    const values = search === null ? [] : Array(3).fill(`%${search}%`)
    const total = statements?.count.get(...values) ?? 0
    const data = statements?.page.all(...values, size, (number - 1) * size) ?? []
    const [last, link] = [Math.ceil(total / size), (to: number) => `${origin}${pathname}?page=${to}`]
    const meta = { current_page: number, from: 1, last_page: last, per_page: size, to: data.length, total }
    const links = { first: link(1), last: link(last), prev: null, next: link(number + 1) }
    const body = JSON.stringify({ success: true, data, meta, links })
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
    response.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // The server listens at a port.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
