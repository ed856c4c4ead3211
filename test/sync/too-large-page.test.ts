import { Agent } from 'undici'
import { expect, test } from 'vitest'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { aSource } from '../source/a-source.ts'
import { START_MS } from '../support/builders.ts'
import { aRecord, faultServer, json } from '../support/fault-server.ts'
import { mirroring } from '../support/listed-source.ts'
import { aMirror, valueOf } from '../support/mirror-file.ts'

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
