import { isIP } from 'node:net'
import type { Hono, MiddlewareHandler } from 'hono'
import { Counter, Registry } from 'prom-client'
import type { Reader } from '../config/credentials.ts'
import { describeError } from '../errors/errors.ts'
import { onlyReads } from '../http/server.ts'
import type { Logger } from '../machine/log.ts'
import { BASE_PATH, createService, type ServiceEnv } from '../service/app.ts'
import type { AnswerList } from '../service/answer.ts'
import { envelopeOf } from '../service/listing.ts'
import { isoTime } from '../time/moments.ts'
import { openApi } from './open-api.ts'
import { NotMirrored, type ServedMirror } from './served-mirror.ts'

type Serving = {
  readers: readonly Reader[]
  /** All that are configured: a host name that begins with one of them asks for no other. */
  organizations: readonly string[]
  mirror: ServedMirror
  log: Pick<Logger, 'info' | 'warn'>
  nowMs: () => number
  monotonicMs: () => number
}

/**
 * The specification as an HTTP application over a mirror, for readers with keys of their own; with /healthz, /readyz, which asks for each
 * organization, /metrics and /openapi.json. No log line and no metric holds what was searched for.
 */
export function createServe(serving: Serving): Hono<ServiceEnv> {
  const { readers, mirror, log, nowMs, monotonicMs } = serving
  const registry = new Registry()
  const answered = new Counter({
    name: 'customer_mirror_serve_requests_total',
    help: 'Requests for the list that were answered, by reader and status.',
    labelNames: ['reader', 'status'],
    registers: [registry],
  })
  const observe: MiddlewareHandler<ServiceEnv> = async (c, next) => {
    const startedMs = monotonicMs()
    await next()
    if (c.req.path !== `${BASE_PATH}/customers`) return
    const reader = c.var.organization?.id ?? 'unknown'
    const { status } = c.res
    answered.inc({ reader, status })
    const { page, per_page: perPage, search, language } = c.req.query()
    const asked = { page: Number(page ?? 1), perPage: Number(perPage ?? 15), isFiltered: Boolean(search || language) }
    log.info({ reader, status, ...asked, ms: Math.round(monotonicMs() - startedMs) }, 'request')
  }
  const app = createService({
    organizations: readers.map(({ name: id, requestsPerMinute: requests, organizations, ...signing }) => ({
      ...{ id, ...signing, answer: answering(organizations, serving) },
      rateLimit: requests === undefined ? undefined : { requests, windowMs: 60_000 },
    })),
    now: nowMs,
    around: [observe],
    examine: async () => {
      const served = new Set(readers.flatMap((reader) => reader.organizations))
      const states = await Promise.allSettled([...served].map((id) => mirror.requireMirrored(id)))
      const problems = states.flatMap((state) => (state.status === 'rejected' ? reasonOf(state.reason) : []))
      return { ready: problems.length === 0, problems: [...new Set(problems)] }
    },
  })
  app.get('/openapi.json', (c) => c.json(openApi()))
  app.get('/metrics', async (c) => c.text(await registry.metrics(), 200, { 'Content-Type': registry.contentType }))
  for (const path of ['/openapi.json', '/metrics']) app.all(path, onlyReads)
  return app
}

function answering(opened: readonly string[], { organizations, mirror, log }: Serving): AnswerList {
  return async (query, _serve, address) => {
    const named = organizationIn(address.hostname, organizations)
    if (named !== undefined && !opened.includes(named)) return { kind: 'error', status: 403, message: CLOSED }
    const organization = named ?? (opened.length === 1 ? opened[0] : undefined)
    if (organization === undefined) return { kind: 'error', status: 404, message: UNNAMED }
    try {
      const { rows, total, readAsOfMs, proof } = await mirror.page(organization, query)
      const headers = { 'X-Data-As-Of': isoTime(readAsOfMs), 'X-Proof': proof }
      // A client that follows the links stays on the list that it asked for.
      address.searchParams.delete('page')
      const envelope = envelopeOf(rows, total, { query, address: address.href })
      return { kind: 'page', envelope, headers }
    } catch (error) {
      log.warn({ organization, ...describeError(error) }, 'mirror not read')
      const message = `${reasonOf(error)} Ask again later.`
      return { kind: 'error', status: 503, message, headers: { 'Retry-After': '10' } }
    }
  }
}

/** The organization that a host name begins with; the longest, since an id may have a dot. */
function organizationIn(hostname: string, known: readonly string[]): string | undefined {
  if (isIP(hostname) !== 0) return undefined
  const named = known.filter((id) => hostname === id || hostname.startsWith(`${id}.`))
  return named.toSorted((a, b) => b.length - a.length)[0]
}

const CLOSED = 'This key does not open the organization that the host name begins with.'
const UNNAMED = 'Several organizations may be read with this key. The first part of the host name says which one.'

/** What went wrong, without the place of the mirror, which is in the log. */
function reasonOf(error: unknown): string {
  if (error instanceof NotMirrored) return error.message
  const { code } = describeError(error)
  return code === 'missing' ? 'There is no mirror yet.' : `The mirror cannot be read now (${code}).`
}
