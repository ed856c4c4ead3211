import type { MiddlewareHandler } from 'hono'
import type { ServiceEnv } from './app.ts'

/** One received request, with the status of its answer. */
export type LoggedRequest = {
  page: number
  per_page: number
  search: string
  /** Undefined while it is being answered. */
  status: number | undefined
}

/** The requests of each organization, in order of arrival. */
export type RequestLog = {
  of: (organizationId: string) => readonly LoggedRequest[]
  /** Records every request whose API key belongs to one of `organizations`. */
  note: MiddlewareHandler<ServiceEnv>
}

/** Keeps the latest requests of each organization, 100,000 at most. */
export function requestLog(organizations: readonly { id: string; apiKey: string }[], keyHeader: string): RequestLog {
  const byId = new Map(organizations.map(({ id }): [string, LoggedRequest[]] => [id, []]))
  const idByKey = new Map(organizations.map(({ id, apiKey }) => [apiKey, id]))
  return {
    of: (id) => byId.get(id) ?? [],
    note: async (c, next) => {
      const log = byId.get(idByKey.get(c.req.header(keyHeader) ?? '') ?? '')
      if (log === undefined) return next()
      const request = asked(new URL(c.req.url).searchParams)
      if (log.push(request) > MOST) log.splice(0, MOST / 2)
      await next()
      request.status = c.res.status
    },
  }
}

function asked(parameters: URLSearchParams): LoggedRequest {
  const [page, perPage] = [parameters.get('page') ?? 1, parameters.get('per_page') ?? 15]
  return { page: Number(page), per_page: Number(perPage), search: parameters.get('search') ?? '', status: undefined }
}

const MOST = 100_000
