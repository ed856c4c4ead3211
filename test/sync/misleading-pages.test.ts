import { Agent } from 'undici'
import { expect, test } from 'vitest'
import { syncCommand } from '../../src/cli/sync.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { aSource } from '../source/a-source.ts'
import { START_MS } from '../support/builders.ts'
import { aRecord, envelopeOf, faultServer, json, list, refusal, type Reply } from '../support/fault-server.ts'
import { onlyRun } from '../support/json-page.ts'
import { mirroring } from '../support/listed-source.ts'
import { aMirror, valueOf } from '../support/mirror-file.ts'
import { runCommand } from '../support/run-command.ts'
import { aFaultServer, aWorkplace, organizationAt } from '../support/workplace.ts'

const CUSTOMERS = 320

/** A list that refuses pages of more than `largest` customers. */
const upTo =
  (largest: number, listed = CUSTOMERS): Reply =>
  (response, request) =>
    request.size > largest
      ? refusal(422, 'validation', `The per page may not be greater than ${largest}.`)(response, request)
      : list(listed)(response, request)

test.each([
  ['chain', 'proven'],
  ['plain', 'unproven'],
] as const)(
  '%s: a first page refused for its size is asked for again with fifty, and so is the rest',
  async (scan, proof) => {
    const server = await aFaultServer(upTo(50))
    const { config, mirror } = aWorkplace([organizationAt(server, { scan })])

    const { code, stdout } = await runCommand(syncCommand, ['--json', '--config', config])

    expect({ code, ...onlyRun(stdout) }).toMatchObject({ code: 0, status: 'complete', proof, error: null })
    expect(valueOf(mirror, 'SELECT count(*) FROM active_customers')).toBe(CUSTOMERS)
    const [first, ...rest] = server.requests.map(({ page, size }) => ({ page, size }))
    expect(first).toEqual({ page: 1, size: 100 })
    expect(rest[0]).toEqual({ page: 1, size: 50 })
    expect(Math.max(...rest.map(({ size }) => size))).toBe(50)
  },
)

test.each(['chain', 'plain'] as const)(
  '%s: a first page refused with fifty too ends the run after two requests, naming the setting',
  async (scan) => {
    const server = await aFaultServer(upTo(20))
    const { config } = aWorkplace([organizationAt(server, { scan })])

    const { code, stdout } = await runCommand(syncCommand, ['--json', '--config', config])

    const { status, error } = onlyRun(stdout)
    expect({ code, status, error: error?.code }).toEqual({ code: 4, status: 'failed', error: 'unprocessable' })
    expect(error?.message).toMatch(/may not be greater than 20.*pageSize/s)
    expect(server.requests.map(({ size }) => size)).toEqual([100, 50])
  },
)

test.each([
  ['of fifty, after 100 were refused', 50, 100],
  ['of twenty, as configured', 20, 20],
])('a customer is searched for in the page size in which the list was read: %s', async (_, largest, pageSize) => {
  let listed = CUSTOMERS
  const server = await aFaultServer((response, request) => {
    const text = request.url.searchParams.get('search')
    if (text === null || request.size > largest) return upTo(largest, listed)(response, request)
    const data = envelopeOf(listed, { page: 1, size: listed }).data.filter(({ email }) => email === text)
    const meta = { current_page: 1, per_page: request.size, total: data.length }
    return json(200, { success: true, data, meta })(response, request)
  })
  const { config, mirror } = aWorkplace([organizationAt(server, { scan: 'chain', pageSize })])
  const night = async () => onlyRun((await runCommand(syncCommand, ['--json', '--config', config])).stdout)
  expect(await night()).toMatchObject({ proof: 'proven', removed: 0 })
  listed -= 1
  expect(await night()).toMatchObject({ proof: 'proven', missing: 1, removed: 0 })

  expect(await night()).toMatchObject({ proof: 'proven', removed: 1 })

  const searches = server.requests.filter(({ url }) => url.searchParams.has('search'))
  expect(searches.map(({ url }) => url.searchParams.get('search'))).toContain(`customer${CUSTOMERS}@example.com`)
  expect(new Set(searches.map(({ size }) => size))).toEqual(new Set([largest]))
  expect(valueOf(mirror, 'SELECT count(*) FROM active_customers')).toBe(listed)
})

test('one record that is larger than an answer may be does not block its organization: all others are mirrored', async () => {
  const rows = Array.from({ length: 250 }, (_, index) => aRecord(index + 1))
  rows[120] = { ...aRecord(121), name: 'x'.repeat(50_000) }
  await using server = await faultServer((response, request) => {
    const { page, size } = request
    const meta = { current_page: page, per_page: size, total: rows.length }
    const data = rows.slice(size * (page - 1), size * page)
    return json(200, { success: true, data, meta })(response, request)
  })
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
    expect(valueOf(mirror.file, 'SELECT count(*) FROM active_customers')).toBe(249)
  }
})
