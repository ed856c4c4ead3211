import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { generateCustomers, seededRandom, below } from '../src/service/customers.ts'
import { DEFAULT_PRESET, recipeOf, signedHeaders } from '../src/signing/signing.ts'
import { openMirror } from '../src/store/mirror.ts'
import { sortRecords } from '../src/sync/sorting/sort-records.ts'
import { CREDENTIALS, type Measurement } from './messages.ts'
import type { GroupResult } from './results.ts'

/** What is asked for, by the names of the rows: of `serve`, and of a handler by hand. */
export const SERVED = {
  pages: { served: 'served, pages of 100', byHand: 'by hand, pages of 100', requests: 300, alone: 1000 },
  searches: { served: 'served, searches', byHand: 'by hand, searches', requests: 24, alone: 100 },
} as const

/** Requests at once, where it is how many are answered in a time that is measured; one after the other for how long one takes. */
const AT_ONCE = 4

/** The same requests to `serve` and to a handler by hand on the same mirror, in turns, each in a process of its own. */
export async function measureServing(
  { customers }: { customers: number },
  { runs, folder }: { runs: number; folder: string },
): Promise<GroupResult> {
  const file = join(folder, 'served.db')
  await fill(file, customers)
  const programs = ['by-hand', 'serve'].map((name) =>
    fork(new URL('serving-process.ts', import.meta.url), [name, file]),
  )
  try {
    const origins = await Promise.all(programs.map(async (program) => String((await once(program, 'message'))[0])))
    const [hand = '', ours = ''] = origins
    const rows = Object.entries(SERVED).flatMap(([kind, { served, byHand, requests, alone }]) =>
      [
        { name: served, floors: [[byHand]], origin: ours },
        { name: byHand, floors: [], origin: hand },
      ].map((row) => ({ ...row, kind, requests, alone, measurements: Array<Measurement>(), tookMs: Array<number>() })),
    )
    for (const { origin, kind, requests } of rows) await ask(origin, targetsOf(kind, customers, requests), AT_ONCE)
    for (let round = 1; round <= runs; round += 1)
      for (const row of rows) {
        const targets = targetsOf(row.kind, customers, row.requests)
        const { wallMs } = await ask(row.origin, targets, AT_ONCE)
        row.measurements.push({ wallMs, requests: row.requests, customers })
        // Other searches, since the last ones are remembered.
        row.tookMs.push(...(await ask(row.origin, targetsOf(row.kind, customers, row.alone + round), 1)).tookMs)
      }
    return {
      name: 'serve',
      about: `${customers.toLocaleString('en')} customers, ${AT_ONCE} signed requests at once`,
      rows,
      notes: rows.map(
        ({ name, tookMs }) =>
          `${name}, one after the other: p50 ${shareMs(tookMs, 0.5)} ms, p99 ${shareMs(tookMs, 0.99)} ms`,
      ),
    }
  } finally {
    for (const program of programs) program.disconnect()
  }
}

/** How long so large a share of the requests took at most. */
function shareMs(tookMs: readonly number[], share: number): string {
  return (tookMs.toSorted((a, b) => a - b)[Math.floor(tookMs.length * share)] ?? 0).toFixed(1)
}

/** A mirror of made-up customers of one organization. */
async function fill(file: string, count: number): Promise<void> {
  const mirror = await openMirror(file)
  const list = generateCustomers({ seed: 'served', count })
  const nowMs = Date.now()
  const run = await mirror.startRun({ organization: 'org-1', trigger: 'sync', nowMs })
  for (let page = 1; (page - 1) * 1000 < count; page += 1) {
    const sorted = sortRecords(list.slice((page - 1) * 1000, page * 1000), { pageBytes: 0 })
    await mirror.savePages(run, [{ ...sorted, page }], nowMs)
  }
  const source = { requests: 1, throttled: 0, waitedMs: 0 }
  await mirror.finishRun(run, { status: 'complete', proof: 'proven', reasons: [], source, readToEnd: true }, nowMs)
  await mirror.close()
}

/** Pages from anywhere, or searches of which each is another one. */
function targetsOf(kind: string, customers: number, requests: number): string[] {
  const random = seededRandom(`${kind} ${requests}`)
  return Array.from({ length: requests }, () => {
    const any = below(random, customers)
    const asked = kind === 'pages' ? `page=${1 + Math.floor(any / 100)}` : `search=${any}`
    return `/api/v1/customers?per_page=100&${asked}`
  })
}

async function ask(
  origin: string,
  targets: readonly string[],
  atOnce: number,
): Promise<{ wallMs: number; tookMs: number[] }> {
  const waiting = targets.values()
  const tookMs: number[] = []
  const startMs = performance.now()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      const connection = new Connection(origin)
      for (const target of waiting) {
        const sentMs = performance.now()
        await connection.receive(target)
        tookMs.push(performance.now() - sentMs)
      }
      connection.close()
    }),
  )
  return { wallMs: performance.now() - startMs, tookMs }
}

/**
 * A connection that is kept alive, whose answers are read into one piece of memory: what a client of Node leaves behind with each answer would be
 * collected while another is waited for, and count as its time.
 */
class Connection {
  readonly #origin: string
  readonly #socket: Socket
  readonly #memory = Buffer.alloc(64 * 1024)
  #left = 0
  #received = Promise.withResolvers<void>()

  constructor(origin: string) {
    const { hostname: host, port } = new URL(origin)
    this.#origin = origin
    const onread = { buffer: this.#memory, callback: (length: number) => this.#read(length) }
    this.#socket = connect({ host, port: Number(port), noDelay: true, onread })
    for (const event of ['error', 'close'])
      this.#socket.once(event, (error) => this.#received.reject(new Error(`${origin} hung up.`, { cause: error })))
  }

  async receive(target: string): Promise<void> {
    const url = new URL(this.#origin + target)
    const headers = signedHeaders({ method: 'GET', url }, CREDENTIALS, { unixMs: Date.now() }, RECIPE)
    const lines = Object.entries({ Host: url.host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
    this.#received = Promise.withResolvers()
    this.#socket.write(`GET ${target} HTTP/1.1\r\n${lines.join('')}\r\n`)
    await this.#received.promise
  }

  close(): void {
    this.#socket.destroy()
  }

  /** Counts what came of the answer, by its Content-Length. */
  #read(length: number): boolean {
    this.#left -= length
    if (this.#left < 0) {
      const found = /^HTTP\/1\.1 200 .*?^content-length: (\d+)\r\n.*?\r\n\r\n/ims.exec(
        this.#memory.toString('latin1', 0, length),
      )
      if (found === null) this.#received.reject(new Error(`An answer of ${this.#origin} is not a page.`))
      else this.#left = Number(found[1]) + found[0].length - length
    }
    if (this.#left === 0) this.#received.resolve()
    return true
  }
}

const RECIPE = recipeOf(DEFAULT_PRESET)
