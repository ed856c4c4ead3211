import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { errorEnvelope } from '../../src/service/answer.ts'
import { startSandbox, type Sandbox, type SandboxOptions } from '../../src/service/sandbox.ts'
import { HEADERS } from '../../src/signing/signing.ts'
import { openMirror, type Mirror } from '../../src/store/mirror.ts'
import type { FaultServer } from './fault-server.ts'
import { runCli } from './run-cli.ts'
import { temporaryFolder } from './mirror-file.ts'

/** A user's folder: a configuration, and a mirror after the first sync; a command line runs there. */
export type Workplace = ReturnType<typeof aWorkplace>

/** An organization as the configuration file writes it. */
export type Written = { id: string; baseUrl: string; apiKey: unknown; secret: unknown; [setting: string]: unknown }

/** A folder with a configuration for these organizations. Its scans are plain: each page is requested once, and numbers are predictable. */
export function aWorkplace(organizations: readonly Written[], settings: Settings = {}) {
  const folder = temporaryFolder()
  const config = join(folder, 'customer-mirror.yaml')
  const defaults = { scan: 'plain', ...settings.defaults }
  mkdirSync(join(folder, 'data'), { mode: 0o700 })
  writeFileSync(config, stringify({ mirror: './data/customers.db', ...settings, defaults, organizations }), {
    mode: 0o600,
  })
  const run = (line: string, options: Partial<Parameters<typeof runCli>[1]> = {}) =>
    runCli(line.split(' '), { cwd: folder, ...options })
  /** The document that a command line prints with `--json`. */
  const json = async (line: string) => JSON.parse((await run(`${line} --json`)).stdout)
  return { folder, config, mirror: settings.mirror ?? join(folder, 'data', 'customers.db'), run, json }
}

/** A workplace of the organization `acme`, of which no service answers, and its mirror, open until the test ends. */
export async function anAwayWorkplace(): Promise<{ workplace: Workplace; mirror: Mirror }> {
  const workplace = aWorkplace([anAwayOrganization()])
  const mirror = await openMirror(workplace.mirror)
  onTestFinished(() => mirror.close())
  return { workplace, mirror }
}

type Settings = Partial<Record<'publish' | 'notify' | 'heartbeat' | 'serve' | 'quick' | 'jobs', object>> & {
  mirror?: string
  defaults?: Readonly<Record<string, unknown>>
  queue?: string
  schedule?: object | undefined
}

/** How a sandbox answers: after `latencyMs`, and organizations that are `forbidden` 403, as where their plan does not permit reading customers. */
export type Answering = SandboxOptions & { forbidden?: readonly string[]; latencyMs?: number }

export async function aSandbox({ forbidden = [], latencyMs = 0, ...options }: Answering = {}): Promise<Sandbox> {
  const intercept: SandboxOptions['intercept'] = async (c, next) => {
    if (latencyMs > 0) await sleep(latencyMs)
    const key = c.req.header(HEADERS.key) ?? ''
    if (forbidden.some((id) => key.startsWith(`sandbox_key_${id}_`))) return c.json(errorEnvelope(403, 'no'), 403)
    return options.intercept === undefined ? next() : options.intercept(c, next)
  }
  const sandbox = await startSandbox({ ...options, intercept })
  onTestFinished(() => sandbox.close())
  return sandbox
}

type Account = Pick<Sandbox['organizations'][number], 'id' | 'baseUrl' | 'apiKey' | 'secret'>

export function organizationsOf({ organizations }: { organizations: readonly Account[] }, settings = {}): Written[] {
  return organizations.map(({ id, baseUrl, apiKey, secret }) => ({ id, baseUrl, apiKey, secret, ...settings }))
}

export { faultServer as aFaultServer } from './fault-server.ts'

/** An organization at a server, with made-up credentials. */
export function organizationAt({ baseUrl }: Pick<FaultServer, 'baseUrl'>, settings: Partial<Written> = {}): Written {
  return { id: 'acme', baseUrl: baseUrl.href, apiKey: 'made-up-key', secret: 'made-up-secret', ...settings }
}

/** An organization of which no service answers. */
export function anAwayOrganization(id = 'acme'): Written {
  return { id, baseUrl: 'http://127.0.0.1:1/api/v1', apiKey: `key-of-${id}`, secret: 'made-up-secret' }
}

/**
 * Holds back the answers to organization `key` (by API key; to all without one) from page `fromPage` on until it is opened, and
 * those to later pages than `upTo` until it is opened again. `requests` are those that came, held back or not.
 */
export function aGate({ key, fromPage = 1 }: { key?: () => string; fromPage?: number } = {}) {
  const reached = Promise.withResolvers<void>()
  const opening = { upTo: 0, changed: Promise.withResolvers<void>() }
  let requests = 0
  const intercept: NonNullable<SandboxOptions['intercept']> = async (context, next) => {
    const isMeant = key === undefined || context.req.header('X-API-Key') === key()
    if (isMeant) requests += 1
    const page = Number(context.req.query('page'))
    if (isMeant && page >= fromPage) {
      reached.resolve()
      while (page > opening.upTo) await opening.changed.promise
    }
    await next()
  }
  return {
    intercept,
    /** The first request that is held back has come. */
    reached: reached.promise,
    get requests() {
      return requests
    },
    open(upTo = Infinity) {
      opening.upTo = upTo
      opening.changed.resolve()
      opening.changed = Promise.withResolvers()
    },
  }
}
