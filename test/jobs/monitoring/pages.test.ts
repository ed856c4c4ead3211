import { expect, onTestFinished, test } from 'vitest'
import { configurationProblems, createPages, serveHttp, answeringInTime } from '../../../jobs/monitoring/endpoints.ts'
import { overviewFacts } from '../../../jobs/monitoring/metrics.ts'
import { readConfig } from '../../../src/config/read-config.ts'
import type { Mirror } from '../../../src/store/mirror.ts'
import { send } from '../../serve/a-served-mirror.ts'
import { night } from '../../store/nights.ts'
import { customerId, customers, START_MS } from '../../support/builders.ts'
import { REFUSED } from '../../support/full-mirror.ts'
import { aMirror } from '../../support/mirror-file.ts'
import { anAwayOrganization, aWorkplace } from '../../support/workplace.ts'

const NOW_MS = Date.UTC(2026, 0, 6, 12)
const CERTIFICATE = {
  ...{ proof: 'settled', distinct: 45, total: 50, pageSize: 10, limit: 45 },
  ...{ holes: [{ position: 20, size: 3 }], found: [customerId(7)] },
}

const HOSTS = [
  ['its address', '127.0.0.1:4011', 200],
  ['another address of the machine', '192.0.2.7', 200],
  ['an address of the newer kind', '[::1]:4011', 200],
  ['localhost', 'localhost:4011', 200],
  ['a name below localhost', 'mirror.localhost', 200],
  ['a name that was allowed', 'Worker.Internal.:4011', 200],
  ['no name, as by HTTP/1.0', '', 200],
  ['the name of another', 'evil.example:4011', 421],
  ['a name that begins with an address', '127.0.0.1.evil.example', 421],
  ['a name that ends with an allowed one', 'not-worker.internal', 421],
  ['a name that cannot be read', 'a b', 400],
] as const

test('a request is answered under the names of this server, and another name learns which option lets it in', async () => {
  const { ask } = await aServer()

  for (const [what, host, status] of HOSTS)
    expect({ what, status: (await ask('/', { host })).status }).toEqual({ what, status })
  for (const path of ['/healthz', '/readyz', '/metrics', '/runs/1'])
    expect((await ask(path, { host: 'evil.example' })).status).toBe(421)
  const { body } = await ask('/', { host: 'evil.example' })
  expect(body).toContain('--allow-host')
  expect(body).not.toContain('acme')
})

const POLICY = /^default-src 'none'; style-src 'sha256-[^']+'; .*frame-ancestors 'none'$/

test('a page runs no script, loads nothing, stands in no other page, is kept by no cache, and cannot be changed', async () => {
  const { ask } = await aServer()

  for (const path of ['/', '/runs/1', '/runs/99']) {
    const { headers } = await ask(path)
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=UTF-8',
      'content-security-policy': expect.stringMatching(POLICY),
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    })
  }
  for (const path of ['/', '/runs/1', '/healthz', '/readyz', '/metrics']) {
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const { status, headers, body } = await ask(path, { method })
      expect({ status, allow: headers['allow'] }).toEqual({ status: 405, allow: 'GET, HEAD' })
      expect(JSON.parse(body)).toEqual({ error: `${path} can be read and nothing else: use GET.` })
    }
    expect((await ask(path, { method: 'HEAD' })).status).toBe(200)
  }
})

test('the page shows the configured organizations, the next run of each, links to their runs, and what is wrong', async () => {
  const config = { current: Object({ organizations: [] }), brokenSinceMs: NOW_MS } as const
  const { ask } = await aServer({ notices: configurationProblems(config, 'another worker has another configuration') })

  const { body } = await ask('/')

  expect(body).toContain('<h3>acme</h3>')
  expect(body).toContain('in 13 h')
  expect(body).toContain('(2026-01-07 02:00 GMT+1)')
  expect(body).toContain('<a href="/runs/1">#1</a>')
  expect(body).toContain('globex is not configured, and has 2 active customers.')
  expect(body).toContain('The configuration file cannot be used since 2026-01-06T12:00:00.000Z')
  expect(body).toContain('Another worker has another configuration')
  expect(body).toContain('The configuration schedules nothing, so this worker starts no run by itself')
  expect((await ask('/?find=nowhere')).body).toContain('No organization has an id like that.')
  expect((await ask('/?find=%3Cscript%3E')).body).not.toContain('<script')
  expect((await ask('/?page=%00&find=a&find=b')).status).toBe(200)
})

test('the page of a run shows its windows, its reasons or its code, and neither a customer nor what the service said', async () => {
  const { ask } = await aServer()

  const { status, body } = await ask('/runs/1')
  const words = body.replaceAll(/<[^>]*>|\s+/g, ' ').replaceAll(/ +/g, ' ')

  expect(status).toBe(200)
  expect((await ask('/runs/99')).status).toBe(404)
  expect(words).toContain('Run #1 of acme')
  expect(body).toMatch(/<a href="\/">All organizations<\/a>/)
  expect(words).toContain('Windows read 1 Customers in a window 10 Different customers read 45')
  expect(words).toContain('not read: positions 21 to 23 of the list')
  expect(words).toContain('The service shows only the first 45 of 50 customers.')
  expect(words).toContain('Found by searches, not in the list 1')
  expect(body).not.toContain(customerId(7))
  const { body: failed } = await ask('/runs/2')
  expect(failed).toMatch(/unauthorized: bad key, wrong secret or wrong recipe/)
  expect(failed).not.toMatch(/private|Jane/)
})

test('a run that was killed is interrupted, on its page and in the list of runs', async () => {
  const { ask, mirror } = await aServer()
  const { id } = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })

  expect((await ask(`/runs/${id}`)).body).toMatch(/interrupted<[^]*The scan was stopped before/)
  expect((await ask('/')).body).toMatch(new RegExp(`#${id}</a> [^<]*, interrupted,`))
})

test('a run that is none has no page, and a mirror that cannot be read is said', async () => {
  const none = () => Promise.reject(new Error('value is out of range'))
  const { ask } = await aServer({ broken: { findRun: none, listFreshness: none } })

  for (const path of ['/runs/99999999999999999999999', '/runs/1e3', '/runs/../runs', '/runs/'])
    expect((await ask(path)).status).toBe(404)
  for (const path of ['/runs/1', '/']) {
    const { status, body, headers } = await ask(path)
    expect(status).toBe(503)
    expect(body).toContain('The mirror cannot be read at the moment.')
    expect(headers['content-security-policy']).toContain("default-src 'none'")
  }
})

/** The server of a worker with a settled and a failed run of acme. */
async function aServer({ broken = {}, notices = [] }: { broken?: Partial<Mirror>; notices?: string[] } = {}) {
  const mirror = await aMirror()
  const settled = { proof: 'settled', ending: { certificate: CERTIFICATE } } as const
  await night(mirror, 0, customers(1, 5), settled)
  await night(mirror, 1, [], { ending: REFUSED })
  await night(mirror, 0, customers(1, 2), { organization: 'globex' })
  const { config } = aWorkplace([anAwayOrganization()], { schedule: { cron: '0 2 * * *', timezone: 'Europe/Paris' } })
  const { organizations } = await readConfig({ file: config, cwd: '/' })
  const facts = async () => overviewFacts(organizations, { nowMs: NOW_MS, monotonicMs: 0 })
  const pages = createPages({ mirror: { ...mirror, ...broken }, facts }, () => notices)
  const examine = async () => ({ ready: true, problems: [] })
  const watched = { examine, metrics: async () => '', pages }
  const server = await serveHttp(watched, { host: '127.0.0.1', port: 0, names: ['worker.internal'] })
  onTestFinished(() => server.close())
  const ask = async (path: string, { host, method = 'GET' }: { host?: string; method?: string } = {}) => {
    const { status, headers, text: body } = await send(server.origin + path, method, host === undefined ? {} : { host })
    return { status, headers: Object.fromEntries(headers), body }
  }
  return { ask, mirror }
}

test('a server that does not answer takes neither the page nor a connection of more than a few look-ups', async () => {
  let asked = 0
  const none = () => new Promise<never>(() => (asked += 1))
  const lists = { listFreshness: none, listHeldRemovals: none, listLastRuns: none, listLatestRuns: none }
  const frozen = { findRun: none, ...lists, listUncountedFreshness: none, listUnderway: none }
  const looks = answeringInTime({ ...(await aMirror()), ...frozen }, { lookMs: 1, countMs: 3_600_000 })
  const shown = { mirror: looks, facts: async () => overviewFacts([], { nowMs: 0, monotonicMs: 0 }) }

  const answers = [await createPages(shown).request('/'), await createPages(shown).request('/runs/1')]

  expect(answers.map(({ status }) => status)).toEqual([503, 503])
  await expect(looks.listLastRuns()).rejects.toMatchObject({ code: 'gone' })
  const before = asked
  for (let times = 0; times < 20; times += 1) await expect(looks.listHeldRemovals()).rejects.toThrow('does not answer')
  expect(asked).toBe(before)
})
