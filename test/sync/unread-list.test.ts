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
