import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { isIP } from 'node:net'
import { withoutBrackets } from '../../src/address/http-address.ts'
import type { Organization } from '../../src/config/organization.ts'
import { addHeaders } from '../../src/http/headers.ts'
import { addHealth } from '../../src/http/health.ts'
import { type Listening, listen } from '../../src/http/listen.ts'
import { onlyReads } from '../../src/http/only-reads.ts'
import { CONTENT_SECURITY_POLICY } from '../../src/page/frame.ts'
import { overviewPage } from '../../src/page/overview-page.ts'
import { type Overview, type Served, readPart } from '../../src/page/overview.ts'
import { errorPage, runPage } from '../../src/page/run-page.ts'
import type { Pauses } from '../../src/pause.ts'
import type { Mirror } from '../../src/store.ts'
import type { WorkerReadiness } from './health.ts'
import { overviewFacts } from './metrics.ts'

export type Watched = {
  examine(): Promise<WorkerReadiness>
  metrics(): Promise<string>
  /** The pages of the queues, under `/queues`. */
  board: Hono | undefined
  /** The pages to look at. */
  pages: Hono
}

/** Where to listen, and the names under which clients may ask, besides addresses and localhost. */
type Address = { host: string; port: number; names: readonly string[] }

/** Serves the endpoints for monitors, and the pages to look at. Throws UsageError when the port cannot be opened. */
export async function serveHttp(watched: Watched, { names, ...address }: Address): Promise<Listening> {
  const app = new Hono()
  app.use(addHeaders)
  app.use(answerOnlyTo([address.host, ...names]))
  addHealth(app, () => watched.examine().catch(() => ({ ready: false, problems: ['the mirror cannot be read'] })))
  app.get('/metrics', async (context) => {
    const text = await watched.metrics()
    return context.text(text, 200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' })
  })
  app.all('/metrics', onlyReads)
  if (watched.board !== undefined) app.route(BOARD_PATH, watched.board)
  app.route('/', watched.pages)
  app.onError((error, context) =>
    error instanceof HTTPException ? error.getResponse() : context.json({ error: 'The look-up failed.' }, 500),
  )
  return listen(app, { ...address, limits: LIMITS })
}

/**
 * Monitors and a few browsers need fewer connections, and no more than a moment for a request. Without limits, a stranger who opens a
 * thousand connections takes the files that runs need. To count the customers of a large mirror takes up to a minute.
 */
const LIMITS = { connections: 200, requestMs: 10_000, silentMs: 120_000 }

export const BOARD_PATH = '/queues'

/**
 * Answers only requests that name this server: by an address of any kind, as localhost, or by one of `names`. A page from elsewhere
 * that has its own name lead to this machine (DNS rebinding) has a browser ask under that name, and gets nothing. An address is no
 * such name: it leads where it says.
 */
function answerOnlyTo(names: readonly string[]): MiddlewareHandler {
  const own = new Set(['localhost', ...names.map((name) => name.toLowerCase().replace(/\.$/, ''))])
  return async (context, next) => {
    const host = context.req.header('Host') ?? ''
    // No browser asks without a name. Monitors do, by HTTP/1.0.
    if (host === '') return next()
    const name = nameIn(host)
    if (name !== undefined && (isIP(name) !== 0 || name.endsWith('.localhost') || own.has(name))) return next()
    return context.json({ error: NOT_OURS }, 421)
  }
}

const NOT_OURS =
  'This worker does not answer to the name in the address. Use its IP address or localhost, or start it with ' +
  '--allow-host and that name.'

/** The name or address in a Host header, without its port; undefined where it is none. */
function nameIn(host: string): string | undefined {
  if (/[/?#@\\\s]/.test(host) || !URL.canParse(`http://${host}`)) return undefined
  return withoutBrackets(new URL(`http://${host}`).hostname).replace(/\.$/, '')
}

export type Shown = {
  mirror: Pick<Mirror, 'listFreshness' | 'listHeldRemovals' | 'listUnderway' | 'listLatestRuns' | 'findRun'>
  /** The organizations configured now. */
  organizations: () => readonly Organization[]
  /** What is wrong with this worker, in sentences. */
  notices?: () => Promise<readonly string[]>
  /** Which organizations are paused. Never rejects. */
  pauses?: () => Promise<Pauses>
  now: () => number
  monotonicMs: () => number
}

/** The pages to look at: all organizations at `/`, and each run at `/runs/<id>`. They can be read and nothing else. */
export function createPages(shown: Shown): Hono {
  const pages = new Hono()
  pages.get('/', async (context) => {
    const { find = '', page = '1' } = context.req.query()
    const asked = { find: find.trim().toLowerCase().slice(0, LONGEST_ID), page: Number(page) }
    return answer(context, 200, overviewPage(...(await readShown(shown, asked))))
  })
  pages.get(RUN_PATH, async (context) => {
    const id = Number(context.req.param('id'))
    // A server of PostgreSQL refuses what is too large for its numbers.
    const run = Number.isSafeInteger(id) ? await shown.mirror.findRun(id) : undefined
    if (run === undefined) return answer(context, 404, errorPage('Not found', 'There is no run with this number.'))
    const held = await shown.mirror.listHeldRemovals()
    const waiting = held.find(({ runId }) => runId === id)?.held ?? 0
    return answer(context, 200, runPage(run, { waiting, nowMs: shown.now() }))
  })
  for (const path of ['/', RUN_PATH]) pages.all(path, onlyReads)
  pages.onError((_error, context) => answer(context, 503, errorPage('No answer', UNREADABLE)))
  return pages
}

const RUN_PATH = '/runs/:id{[0-9]+}'

/** The longest id of an organization. */
const LONGEST_ID = 63

const UNREADABLE = "The mirror cannot be read at the moment. The log of the worker and 'customer-mirror check' say why."

async function readShown(
  { mirror, organizations, notices = async () => [], pauses, now, monotonicMs }: Shown,
  wanted: { find: string; page: number },
): Promise<[Overview, Served]> {
  const moment = { pauses: await pauses?.(), nowMs: now(), monotonicMs: monotonicMs() }
  const [overview, served] = await readPart(mirror, overviewFacts(organizations(), moment), wanted)
  return [overview, { ...served, notices: (await notices()).map(asSentence) }]
}

function asSentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`
}

async function answer(context: Context, status: 200 | 404 | 503, page: Promise<string>): Promise<Response> {
  return context.html(await page, status, PAGE_HEADERS)
}

const PAGE_HEADERS = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
}
