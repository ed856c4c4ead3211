import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { generateCustomers, seededRandom, below } from '../src/service/customers.ts'
import { DEFAULT_PRESET, recipeOf, signedHeaders } from '../src/signing/signing.ts'
import { openMirror } from '../src/store/mirror.ts'
import { sortRecords } from '../src/sync/sorting/sort-records.ts'
import { CREDENTIALS, type Measurement } from './messages.ts'
import type { GroupResult } from './results.ts'

/** What is asked for, by the names of the rows: of `serve`, and of a handler by hand. */
export const SERVED = {
  pages: { served: 'served, pages of 100', byHand: 'by hand, pages of 100', requests: 300 },
  searches: { served: 'served, searches', byHand: 'by hand, searches', requests: 24 },
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
    const rows = Object.entries(SERVED).flatMap(([kind, { served, byHand, requests }]) =>
      [
        { name: served, floors: [[byHand]], origin: ours },
        { name: byHand, floors: [], origin: hand },
      ].map((row) => ({ ...row, kind, requests, measurements: Array<Measurement>(), tookMs: Array<number>() })),
    )
    for (const { origin, kind, requests } of rows) await ask(origin, targetsOf(kind, customers, requests / 3), AT_ONCE)
    for (let round = 1; round <= runs; round += 1)
      for (const row of rows) {
        const targets = targetsOf(row.kind, customers, row.requests)
        const { wallMs } = await ask(row.origin, targets, AT_ONCE)
        row.measurements.push({ wallMs, requests: row.requests, customers })
        // Other searches, since the last ones are remembered.
        row.tookMs.push(...(await ask(row.origin, targetsOf(row.kind, customers, row.requests + round), 1)).tookMs)
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
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
  const waiting = targets.values()
  const tookMs: number[] = []
  const startMs = performance.now()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const target of waiting) {
        const sentMs = performance.now()
        await receive(origin + target, agent)
        tookMs.push(performance.now() - sentMs)
      }
    }),
  )
  const wallMs = performance.now() - startMs
  agent.destroy()
  return { wallMs, tookMs }
}

function receive(address: string, agent: Agent): Promise<void> {
  const url = new URL(address)
  const recipe = recipeOf(DEFAULT_PRESET)
  const headers = signedHeaders({ method: 'GET', url }, CREDENTIALS, { unixMs: Date.now() }, recipe)
  return new Promise((resolve, reject) => {
    get(url, { headers, agent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${address} was answered ${response.statusCode}`))
      response.resume().once('end', resolve)
    }).once('error', reject)
  })
}
