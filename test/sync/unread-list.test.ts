import { expect, test } from 'vitest'
import { exitCodeOf } from '../../src/cli/exit-code.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { envelopeOf, json, list, type Reply, refusal } from '../support/fault-server.ts'
import { onlyRun } from '../support/json-page.ts'
import { aMirror, rowsOf, valueOf } from '../support/mirror-file.ts'
import { activeIds, syncSandbox } from '../support/mirrored-sandbox.ts'
import { runCommand } from '../support/run-command.ts'
import { aFaultServer, aSandbox, aWorkplace, organizationAt } from '../support/workplace.ts'
import { someOf } from '../support/seeds.ts'

const CUSTOMERS = 600
const honest = list(CUSTOMERS)

/** Other rows than the page asked for, or another envelope around them. */
const lying = (change: (body: ReturnType<typeof envelopeOf>, size: number, page: number) => object): Reply => {
  return (response, request) =>
    json(200, change(envelopeOf(CUSTOMERS, request), request.size, request.page))(response, request)
}
const withMeta = (meta: object): Reply => lying((body) => ({ ...body, meta: { ...body.meta, ...meta } }))

const countless = { total: undefined, last_page: undefined }

const LIES: [string, string, number, Reply][] = [
  ['404', 'not-found', 4, refusal(404, 'not_found', 'No.')],
  ['422', 'unprocessable', 4, refusal(422, 'invalid', 'No.')],
  ['400', 'unprocessable', 4, refusal(400, 'bad_request', 'No.')],
  ['another page number', 'page-mismatch', 3, withMeta({ current_page: 77 })],
  ['per_page 0', 'page-mismatch', 3, withMeta({ per_page: 0 })],
  [
    'more rows than asked for',
    'page-mismatch',
    3,
    lying((body, size) => ({ ...body, data: envelopeOf(CUSTOMERS, { page: 1, size: size + 1 }).data })),
  ],
  ['a redirect', 'bad-answer', 3, (response) => void response.writeHead(302, { Location: '/' }).end()],
  [
    'empty pages without a count',
    'page-mismatch',
    3,
    lying((body) => ({ ...body, data: [], meta: { ...body.meta, ...countless } })),
  ],
  [
    'an empty list',
    'page-mismatch',
    3,
    lying((body) => ({ ...body, data: [], meta: { ...body.meta, total: 0, last_page: 1 } })),
  ],
]

test.each(['chain', 'plain'] as const)(
  '%s: empty pages from the third request on, of a list that promises 600, are no end: exit 3, and no base line',
  async (scan) => {
    const server = await aFaultServer(
      honest,
      honest,
      lying((body) => ({ ...body, data: [] })),
    )
    const { config, mirror } = aWorkplace([organizationAt(server, { scan })])

    const failed = await runCommand(syncCommand, ['--json', '--config', config])

    expect(onlyRun(failed.stdout)).toMatchObject({ status: 'failed', error: { code: 'page-mismatch' } })
    expect(failed.code).toBe(3)
    expect(failed.stderr).toContain('held no customers, although the total promises more')
    expect(rowsOf(mirror, 'SELECT read_as_of FROM freshness')).toEqual([{ read_as_of: null }])
  },
)

/** Answers without a total or a last page; `serve` names the customers on a page. */
const countlessly = (serve: (page: number, size: number) => object[]): Reply =>
  lying(({ meta, ...body }, size, page) => ({ ...body, data: serve(page, size), meta: { ...meta, ...countless } }))
const pageOf = (page: number, size: number) => envelopeOf(CUSTOMERS, { page, size }).data
const onlySizes =
  (sizes: readonly number[], reply: Reply): Reply =>
  (response, request) =>
    sizes.includes(request.size) ? reply(response, request) : refusal(422, 'invalid', 'No.')(response, request)

/** What each answers, and the status of a run and the fewest customers it has read, by the chain and by a plain scan. */
const COUNTLESS: [string, Reply, chain: [string, number], plain: [string, number]][] = [
  ['every customer', countlessly(pageOf), ['complete', 600], ['complete', 600]],
  [
    'pages without one of their customers',
    countlessly((page, size) => pageOf(page, size).toSpliced(50, page === 1 ? 1 : 0)),
    ['complete', 599],
    ['complete', 599],
  ],
  [
    'the same in sizes of 50 and 100',
    onlySizes(
      [50, 100],
      countlessly((page, size) => pageOf(page, size).toSpliced(50, page === 2 ? 1 : 0)),
    ),
    ['complete', 599],
    ['complete', 599],
  ],
  [
    'pages of fifty customers, whatever size they state',
    countlessly((page, size) => pageOf(page, Math.min(50, size))),
    ['complete', 600],
    ['complete', 600],
  ],
  [
    'the first half of the customers of each page',
    countlessly((page, size) => pageOf(page, size).slice(0, Math.ceil(size / 2))),
    ['complete', 550],
    ['failed', 100],
  ],
  [
    'page 2 under every further number',
    countlessly((page, size) => pageOf(Math.min(page, 2), size)),
    ['failed', 100],
    ['failed', 200],
  ],
  [
    'page 3 without customers, and further ones with them',
    countlessly((page, size) => (page === 3 ? [] : pageOf(page, size))),
    ['failed', 100],
    ['failed', 200],
  ],
]

test.each(
  someOf(
    COUNTLESS.flatMap(([what, reply, ...ends]) =>
      (['chain', 'plain'] as const).map((scan, n) => [scan, what, reply, ends[n]] as const),
    ),
  ),
)(
  '%s: a service without a total that serves %s is read to its end, or the run fails',
  async (scan, _what, reply, end = ['complete', 600]) => {
    const { config, mirror } = aWorkplace([organizationAt(await aFaultServer(reply), { scan })])

    const { stdout, code } = await runCommand(syncCommand, ['--json', '--config', config])

    const [status, least] = end
    expect(onlyRun(stdout)).toMatchObject({ status, proof: 'unproven' })
    expect(code === 0).toBe(status === 'complete')
    expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers')).toBeGreaterThanOrEqual(least)
  },
)

test.each(someOf(LIES.flatMap(([...lie]) => (['chain', 'plain'] as const).map((scan) => [scan, ...lie] as const))))(
  '%s: from the third request on %s for everything, and the run is failed with %s, exit %d; the next goes on',
  async (scan, _what, code, exit, lie) => {
    let lies = true
    const later: Reply = (response, request) => (lies ? lie : honest)(response, request)
    const server = await aFaultServer(honest, honest, later)
    const { config, mirror } = aWorkplace([organizationAt(server, { scan })])

    const failed = await runCommand(syncCommand, ['--json', '--config', config])

    expect(onlyRun(failed.stdout)).toMatchObject({ status: 'failed', proof: 'unproven', error: { code } })
    expect(failed.code).toBe(exit)
    expect(failed.stderr).toMatch(/page \d+, per_page \d+/)
    expect(server.requests.length).toBeLessThan(30)
    const kept = valueOf(mirror, 'SELECT count(*) FROM customers')
    expect(kept).toBeGreaterThan(99)
    expect(kept).toBeLessThan(CUSTOMERS)
    expect(rowsOf(mirror, 'SELECT read_as_of FROM freshness')).toEqual([{ read_as_of: null }])

    lies = false
    const healed = await runCommand(syncCommand, ['--json', '--config', config])

    expect(onlyRun(healed.stdout)).toMatchObject({ status: 'complete', error: null })
    expect(valueOf(mirror, 'SELECT count(*) FROM active_customers')).toBe(CUSTOMERS)
    // Still the base line: customers who come in its second half are no changes.
    expect(valueOf(mirror, 'SELECT count(*) FROM changes')).toBe(0)
    if (scan === 'chain' && code !== 'bad-answer')
      expect(valueOf(mirror, 'SELECT count(*) FROM runs WHERE resumed_from IS NOT NULL')).toBe(1)
  },
)

test.each([
  ['page-1-always', 'page-mismatch'],
  ['page-1-renumbered', 'repeated-page'],
])(
  '%s: the run is failed with %s, and one that goes on from it with an honest service is proven',
  async (name, code) => {
    const mirror = await aMirror()
    const liar = await aSandbox({ organizations: 1, scenario: name })

    const { report, error } = await syncSandbox(liar, mirror)

    expect(report).toMatchObject({ status: 'failed', proof: 'unproven', error: { code } })
    expect(exitCodeOf(error)).toBe(3)
    expect(liar.organization('acme').requests.length).toBeLessThan(40)

    const honestOne = await aSandbox({ organizations: 1 })
    const next = await syncSandbox(honestOne, mirror)

    expect(next.report).toMatchObject({ status: 'complete', proof: 'proven', reasons: [] })
    expect((await mirror.findRun(next.report.runId ?? 0))?.resumedFrom).toBe(report.runId)
    expect(activeIds(mirror)).toEqual(honestOne.truth('acme').listed())
  },
)
