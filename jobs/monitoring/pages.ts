import { Hono, type Context } from 'hono'
import type { Organization } from '../../src/config/organization.ts'
import { onlyReads } from '../../src/http/only-reads.ts'
import { CONTENT_SECURITY_POLICY } from '../../src/page/frame.ts'
import { overviewPage } from '../../src/page/overview-page.ts'
import { readPart, type Overview, type Served } from '../../src/page/overview.ts'
import { errorPage, runPage } from '../../src/page/run-page.ts'
import type { Pauses } from '../../src/pause.ts'
import type { Mirror } from '../../src/store.ts'
import { overviewFacts } from './standings.ts'

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
