import { expect, test } from 'vitest'
import { Agent } from 'undici'
import { aRecord, envelopeOf, json, list, refusal, type Reply } from '../support/fault-server.ts'
import { onlyRun } from '../support/json-page.ts'
import { aMirror, rowsOf, valueOf } from '../support/mirror-file.ts'
import { aFaultServer, aWorkplace, organizationAt } from '../support/workplace.ts'
import { someOf } from '../support/seeds.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { aSource } from '../source/a-source.ts'
import { START_MS } from '../support/builders.ts'
import { mirroring } from '../support/listed-source.ts'

const CUSTOMERS = 600
const honest = list(CUSTOMERS)

/** Other rows than the page asked for, or another envelope around them. */
const lying = (change: (body: ReturnType<typeof envelopeOf>, size: number, page: number) => object): Reply => {
  return (response, request) =>
    json(200, change(envelopeOf(CUSTOMERS, request), request.size, request.page))(response, request)
}
const withMeta = (meta: object): Reply => lying((body) => ({ ...body, meta: { ...body.meta, ...meta } }))

const pageOne = (size: number) => envelopeOf(CUSTOMERS, { page: 1, size }).data
const empty = (meta: object = {}) => lying((body) => ({ ...body, data: [], meta: { ...body.meta, ...meta } }))
const tooMany = lying((body, size) => ({ ...body, data: pageOne(size + 1) }))

type Lie = [what: string, code: string, exit: number, lie: Reply, said?: string]

const LIES: Lie[] = [
  ['empty pages', 'page-mismatch', 3, empty(), 'held no customers, although the total promises more'],
  ['404', 'not-found', 4, refusal(404, 'not_found', 'No.')],
  ['422', 'unprocessable', 4, refusal(422, 'invalid', 'No.')],
  ['400', 'unprocessable', 4, refusal(400, 'bad_request', 'No.')],
  ['another page number', 'page-mismatch', 3, withMeta({ current_page: 77 })],
  ['per_page 0', 'page-mismatch', 3, withMeta({ per_page: 0 })],
  ['more rows than asked for', 'page-mismatch', 3, tooMany],
  ['page 1 under each number', 'repeated-page', 3, lying((body, size) => ({ ...body, data: pageOne(size) }))],
  ['a redirect', 'bad-answer', 3, (response) => void response.writeHead(302, { Location: '/' }).end()],
  ['empty pages without a count', 'page-mismatch', 3, empty({ total: undefined, last_page: undefined })],
  ['an empty list', 'page-mismatch', 3, empty({ total: 0, last_page: 1 })],
]
const IN_EACH_SCAN = LIES.flatMap((lie) =>
  (['chain', 'plain'] as const).map((scan): [typeof scan, ...Lie] => [scan, ...lie]),
)

test.each<[scan: 'chain' | 'plain', ...Lie]>(someOf(IN_EACH_SCAN, { every: 6 }))(
  '%s: from the third request on %s for everything, and the run is failed with %s, exit %d; the next goes on',
  async (scan, _what, code, exit, lie, said = '') => {
    let lies = true
    const later: Reply = (response, request) => (lies ? lie : honest)(response, request)
    const server = await aFaultServer(honest, honest, later)
    const { run, mirror } = aWorkplace([organizationAt(server, { scan })])

    const failed = await run('sync --json')

    expect(onlyRun(failed.stdout)).toMatchObject({ status: 'failed', proof: 'unproven', error: { code } })
    expect(failed.code).toBe(exit)
    expect(failed.stderr).toMatch(/page \d+, per_page \d+/)
    expect(failed.stderr).toContain(said)
    expect(server.requests.length).toBeLessThan(30)
    const kept = valueOf(mirror, 'SELECT count(*) FROM customers')
    expect(kept).toBeGreaterThan(99)
    expect(kept).toBeLessThan(CUSTOMERS)
    expect(rowsOf(mirror, 'SELECT read_as_of FROM freshness')).toEqual([{ read_as_of: null }])

    lies = false
    const healed = await run('sync --json')

    expect(onlyRun(healed.stdout)).toMatchObject({ status: 'complete', error: null })
    expect(valueOf(mirror, 'SELECT count(*) FROM active_customers')).toBe(CUSTOMERS)
    // Still the base line: customers who come in its second half are no changes.
    expect(valueOf(mirror, 'SELECT count(*) FROM changes')).toBe(0)
    if (scan === 'chain' && code !== 'bad-answer')
      expect(valueOf(mirror, 'SELECT count(*) FROM runs WHERE resumed_from IS NOT NULL')).toBe(1)
  },
)

test('where every answer is out of a cache, the run fails', async () => {
  const server = await aFaultServer((response, request) => honest(response.setHeader('Age', '600'), request))
  const { code, stdout } = await aWorkplace([organizationAt(server)]).run('sync --json')
  expect({ code, ...onlyRun(stdout) }).toMatchObject({ code: 3, status: 'failed', error: { code: 'cached-answer' } })
})

const LISTED = 320

/** A list that refuses pages of more than `largest` customers. */
const upTo =
  (largest: number, listed = LISTED): Reply =>
  (response, request) =>
    request.size > largest
      ? refusal(422, 'validation', `The per page may not be greater than ${largest}.`)(response, request)
      : list(listed)(response, request)

test.each([
  ['chain', 'proven'],
  ['plain', 'unproven'],
] as const)(
  '%s: a first page refused for its size is asked for again with fifty, and so is the rest; refused too, it ends the run, naming the setting',
  async (scan, proof) => {
    const [server, strict] = [await aFaultServer(upTo(50)), await aFaultServer(upTo(20))]
    const { run, mirror } = aWorkplace([organizationAt(server, { scan })])
    const refused = aWorkplace([organizationAt(strict, { scan })])

    const { code, stdout } = await run('sync --json')
    const ended = await refused.run('sync --json')

    expect({ code, ...onlyRun(stdout) }).toMatchObject({ code: 0, status: 'complete', proof, error: null })
    expect(valueOf(mirror, 'SELECT count(*) FROM active_customers')).toBe(LISTED)
    const [asked, askedStrict] = [server, strict].map(({ requests }) =>
      requests.map(({ page, size }) => `${page}/${size}`),
    )
    expect(asked?.slice(0, 2)).toEqual(['1/100', '1/50'])
    expect(Math.max(...server.requests.slice(1).map(({ size }) => size))).toBe(50)
    const { status, error } = onlyRun(ended.stdout)
    expect([ended.code, status, error?.code]).toEqual([4, 'failed', 'unprocessable'])
    expect(error?.message).toMatch(/may not be greater than 20.*pageSize/s)
    expect(askedStrict).toEqual(['1/100', '1/50'])
  },
)

test.each([
  ['of fifty, after 100 were refused', 50, 100],
  ['of twenty, as configured', 20, 20],
])('a customer is searched for in the page size in which the list was read: %s', async (_, largest, pageSize) => {
  let listed = LISTED
  const server = await aFaultServer((response, request) => {
    const text = request.url.searchParams.get('search')
    if (text === null || request.size > largest) return upTo(largest, listed)(response, request)
    const data = envelopeOf(listed, { page: 1, size: listed }).data.filter(({ email }) => email === text)
    const meta = { current_page: 1, per_page: request.size, total: data.length }
    return json(200, { success: true, data, meta })(response, request)
  })
  const { run, mirror } = aWorkplace([organizationAt(server, { scan: 'chain', pageSize })])
  const night = async () => onlyRun((await run('sync --json')).stdout)
  expect(await night()).toMatchObject({ proof: 'proven', removed: 0 })
  listed -= 1
  expect(await night()).toMatchObject({ proof: 'proven', missing: 1, removed: 0 })

  expect(await night()).toMatchObject({ proof: 'proven', removed: 1 })

  const searches = server.requests.filter(({ url }) => url.searchParams.has('search'))
  expect(searches.map(({ url }) => url.searchParams.get('search'))).toContain(`customer${LISTED}@example.com`)
  expect(new Set(searches.map(({ size }) => size))).toEqual(new Set([largest]))
  expect(valueOf(mirror, 'SELECT count(*) FROM active_customers')).toBe(listed)
})

test('one record that is larger than an answer may be does not block its organization: all others are mirrored', async () => {
  const large = { ...aRecord(121), name: 'x'.repeat(50_000) }
  const withLarge = lying((body) => ({ ...body, data: body.data.map((one) => (one.id === large.id ? large : one)) }))
  const server = await aFaultServer(withLarge)
  const mirror = await aMirror()
  for (const night of [1, 2]) {
    const { source } = aSource(server, {}, { connections: new Agent({ maxResponseSize: 40_000 }) })
    const now = () => START_MS + night * 86_400_000
    const terms = { scan: 'chain', pageSize: 100, now } as const
    const { report, error } = await mirrorOrganization(mirroring(mirror, source, terms))
    expect(error).toBeUndefined()
    expect(report).toMatchObject({ status: 'complete', proof: 'unproven', missing: 0 })
    expect(report.reasons).toContain('hole')
    const { certificate } = (await mirror.findRun(report.runId ?? 0)) ?? {}
    expect(certificate).toMatchObject({ holes: [{ position: 120, size: 1 }] })
    expect(valueOf(mirror.file, 'SELECT count(*) FROM active_customers')).toBe(CUSTOMERS - 1)
  }
})
