import { Hono, type MiddlewareHandler } from 'hono'
import { isIP } from 'node:net'
import { withoutBrackets } from '../../src/address/http-address.ts'
import { addHeaders, addHealth, type Listening, listen, onlyReads, type Readiness } from '../../src/http/server.ts'
import { asItStands } from '../../src/model/report.ts'
import { CONTENT_SECURITY_POLICY } from '../../src/status/frame.ts'
import { overviewPage } from '../../src/status/overview-page.ts'
import { type OrganizationView, type OverviewFacts, readPart, readStandings } from '../../src/status/overview.ts'
import { errorPage, runPage } from '../../src/status/run-page.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { isoTime } from '../../src/time/moments.ts'
import type { LiveConfig } from '../configuration.ts'
import { type Metrics, processText } from './metrics.ts'
import { succeeds, within } from '../../src/machine/timers.ts'
import { ANSWER_MS, type Backend } from '../queue/port.ts'
import { failureOf } from '../queue/queue-faults.ts'
import { MirrorUnusable } from '../../src/errors/errors.ts'

type Watched = { examine(): Promise<Readiness>; metrics(): Promise<string>; pages: Hono }

type Address = { host: string; port: number; names: readonly string[] }

/** Serves the endpoints for monitors and the pages to clients that ask by an address, as localhost or by one of `names`. Throws UsageError. */
export async function serveHttp(shown: Watched, { names, ...address }: Address): Promise<Listening> {
  const app = new Hono()
  app.use(addHeaders)
  app.use(answerOnlyTo([address.host, ...names]))
  addHealth(app, () => shown.examine().catch(() => ({ ready: false, problems: ['the mirror cannot be read'] })))
  const type = { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' }
  app.get('/metrics', async (context) => context.text(await shown.metrics(), 200, type))
  app.all('/metrics', onlyReads)
  app.route('/', shown.pages)
  app.onError((_error, context) => context.json({ error: 'The look-up failed.' }, 500))
  return listen(app, { ...address, limits: LIMITS })
}

/** A stranger who opens a thousand connections would take the files that runs need. To count a large mirror takes up to a minute. */
const LIMITS = { connections: 200, requestMs: 10_000, silentMs: 120_000 }

/** Answers only requests to an address, localhost or one of `names`: a page from elsewhere may have its own name lead here (DNS rebinding). */
function answerOnlyTo(names: readonly string[]): MiddlewareHandler {
  const own = ['localhost', ...names.map((name) => name.toLowerCase().replace(/\.$/, ''))]
  return async (context, next) => {
    const host = context.req.header('Host') ?? ''
    // No browser asks without a name. Monitors do, by HTTP/1.0.
    if (host === '') return next()
    const url = /[/?#@\\\s]/.test(host) ? null : URL.parse(`http://${host}`)
    const name = url === null ? '' : withoutBrackets(url.hostname).replace(/\.$/, '')
    if (name !== '' && (isIP(name) !== 0 || name.endsWith('.localhost') || own.includes(name))) return next()
    return context.json({ error: NOT_OURS }, 421)
  }
}

const NOT_OURS =
  'This worker does not answer to the name in the address. Use its IP address or localhost, or start it with ' +
  '--allow-host and that name.'

/** What pages are made of. `facts` never rejects. */
type Looking = {
  mirror: Pick<
    Mirror,
    'listFreshness' | 'listHeldRemovals' | 'listUnderway' | 'listLatestRuns' | 'findRun' | 'listKilled'
  >
  facts: () => Promise<OverviewFacts>
}

/** The pages to look at, which can only be read: all organizations at `/`, with what is wrong with the configuration; runs at `/runs/<id>`. */
export function createPages({ mirror, facts }: Looking, notices: () => readonly string[] = () => []): Hono {
  const pages = new Hono()
  pages.get('/', async (context) => {
    const { find = '', page = '1' } = context.req.query()
    const asked = { find: find.trim().toLowerCase().slice(0, LONGEST_ID), page: Number(page) }
    const { overview, served } = await readPart(mirror, await facts(), asked)
    const sentences = notices().map((text) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`)
    return context.html(overviewPage(overview, { ...served, notices: sentences }), 200, PAGE_HEADERS)
  })
  pages.get(RUN_PATH, async (context) => {
    const id = Number(context.req.param('id'))
    // A server of PostgreSQL refuses what is too large for its numbers.
    const run = Number.isSafeInteger(id) ? await mirror.findRun(id) : undefined
    if (run === undefined)
      return context.html(errorPage('Not found', 'There is no run with this number.'), 404, PAGE_HEADERS)
    const held = await mirror.listHeldRemovals()
    const waiting = held.find(({ runId }) => runId === id)?.held ?? 0
    const known = await facts()
    const shown = asItStands(run, await mirror.listKilled(known))
    return context.html(runPage(shown, { waiting, nowMs: known.nowMs }), 200, PAGE_HEADERS)
  })
  for (const path of ['/', RUN_PATH]) pages.all(path, onlyReads)
  pages.onError((_error, context) => context.html(errorPage('No answer', UNREADABLE), 503, PAGE_HEADERS))
  return pages
}

const RUN_PATH = '/runs/:id{[0-9]+}'

const LONGEST_ID = 63

const UNREADABLE = "The mirror cannot be read at the moment. The log of the worker and 'customer-mirror check' say why."

const PAGE_HEADERS = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
}

/** What a worker shows of itself. `runners` are those that make runs. */
export function watched(parts: {
  backend: Pick<Backend, 'write'>
  config: LiveConfig
  /** Undefined where no other worker can use the queue. */
  others: { problem: () => string | undefined } | undefined
  runners: Examined['workers']
  looking: Looking & { mirror: Mirror }
  metrics: Metrics
}): Watched {
  const { backend, config, others, runners, looking, metrics } = parts
  const { mirror, facts } = looking
  const configuration = () => configurationProblems(config, others?.problem())
  const examineNow = (standings: Examined['standings']) =>
    examine({ write: backend.write, workers: runners, configuration: configuration(), standings })
  return {
    examine: async () => examineNow(await readStandings(mirror, await facts())),
    metrics: async () => {
      const asked = within(succeeds(backend.write()), ANSWER_MS, false)
      const known = await facts()
      // While the mirror cannot be read, `ready` is 0; all other metrics are still worth having.
      const standings = await readStandings(mirror, known).catch(() => undefined)
      const ready = standings !== undefined && (await examineNow(standings)).ready
      const scraped = { ready, queueUp: await asked, organizations: known.organizations, standings: standings ?? [] }
      return (await metrics.text(scraped)) + (await processText())
    },
    pages: createPages(looking, configuration),
  }
}

type Shown = Pick<LiveConfig, 'current' | 'brokenSinceMs'>

export function configurationProblems({ current, brokenSinceMs }: Shown, differing: string | undefined): string[] {
  const broken =
    brokenSinceMs !== undefined &&
    `the configuration file cannot be used since ${isoTime(brokenSinceMs)}, see the log of the worker; the one before stays`
  return [broken, schedulesNothing({ current }) && NO_SCHEDULE, differing].filter((each) => typeof each === 'string')
}

export function schedulesNothing({ current }: Pick<LiveConfig, 'current'>): boolean {
  return current.organizations.every(({ schedule }) => schedule === undefined)
}

export const NO_SCHEDULE =
  'the configuration schedules nothing, so this worker starts no run by itself: give it a schedule, such as `schedule: { cron: "0 2 * * *" }`'

type Examined = {
  write: () => Promise<void>
  workers: readonly { isRunning(): boolean; isPaused(): boolean }[]
  configuration?: readonly string[]
  standings: readonly OrganizationView[]
}

/** Whether the worker does its work, and what does not affect that: decisions that wait for a person, and pauses. Times in ISO 8601. */
export async function examine({ write, workers, configuration = [], standings }: Examined) {
  const failed = (error: unknown) => [`the queue cannot be written: ${failureOf(error).reason}`]
  const written = write().then(() => [], failed)
  const problems = [
    ...(await within(written, ANSWER_MS, ['the queue cannot be reached'])),
    ...(workers.every((worker) => worker.isRunning() && !worker.isPaused()) ? [] : ['no jobs are taken']),
    ...configuration,
    ...standings.flatMap(({ organization, due, paused }) =>
      due?.isLate !== true || paused !== undefined
        ? []
        : [`${organization}: was due at ${isoTime(due.lastMs)} and has not been mirrored since`],
    ),
  ]
  const paused = standings.flatMap(({ organization, paused: pause }) =>
    pause === undefined ? [] : [{ organization, since: isoTime(pause.sinceMs), until: isoTime(pause.untilMs) }],
  )
  const held = standings.flatMap(({ organization, held: open }) =>
    open.map(({ runId, held: removals }) => ({ run: runId, organization, held: removals })),
  )
  const changed = standings.filter(({ standing }) => standing.states.includes('shape-changed'))
  return {
    ...{ ready: problems.length === 0, problems, held },
    ...(changed.length > 0 && { shapeChanged: changed.map(({ organization }) => organization) }),
    ...(paused.length > 0 && { paused }),
  }
}

/** How long an answer may take: Prometheus gives a scrape ten seconds; to count a large mirror takes its time. */
const IN_TIME = { lookMs: 3000, countMs: 60_000 }

/** The most look-ups that may wait for an answer at the same time: each holds a connection that the runs need. */
const MOST_LATE = 2

/** The mirror for the endpoints, which answer even while its server is frozen: a look-up without an answer is refused as `gone`. */
export function answeringInTime(mirror: Mirror, { lookMs, countMs } = IN_TIME): Mirror {
  let late = 0
  const unanswered = () => new MirrorUnusable(`${mirror.file}: the server does not answer in time.`, { code: 'gone' })

  return new Proxy(mirror, {
    get(target, verb) {
      const asked: unknown = Reflect.get(target, verb)
      if (typeof asked !== 'function') return asked
      return async (...filter: unknown[]) => {
        if (late >= MOST_LATE) throw unanswered()
        const looking = Promise.resolve(Reflect.apply(asked, target, filter))
        const answer = await within(looking, verb === 'listFreshness' ? countMs : lookMs, unanswered)
        if (answer !== unanswered) return answer
        late += 1
        void succeeds(looking).then(() => (late -= 1))
        throw unanswered()
      }
    },
  })
}
