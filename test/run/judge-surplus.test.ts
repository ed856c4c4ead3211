import { expect, test } from 'vitest'
import { mirrorOrganization } from '../../src/mirror-organization.ts'
import { customers } from '../support/builders.ts'
import { listedSource, pageOfList, sourceOf } from '../support/listed-source.ts'
import { aMirror } from '../support/mirror-file.ts'
import { mirroring } from '../support/mirroring.ts'

const LIST = customers(1, 950)

test.each([
  ['fewer than twenty are taken for customers who left meanwhile', 15, 'proven', []],
  ['more cost the proof', 100, 'unproven', ['total-mismatch']],
])('one answer with customers who are not listed: %s', async (_what, pageSize, proof, reasons) => {
  const mirror = await aMirror()
  const settings = { scan: 'chain', pageSize, concurrency: 1 } as const
  await mirrorOrganization(mirroring(mirror, listedSource(LIST), settings))
  let strangers = 0
  const source = sourceOf(async (window) => {
    const page = pageOfList(LIST, window)
    if (window.page !== 3 || strangers > 0) return page
    strangers = window.size
    return { ...pageOfList(customers(5001, 5950), window), total: page.total }
  })

  const { report } = await mirrorOrganization(mirroring(mirror, source, settings))

  expect(report).toMatchObject({ status: 'complete', proof, reasons, inserted: strangers })
  const next = await mirrorOrganization(mirroring(mirror, source, settings))
  expect(next.report).toMatchObject({ status: 'complete', proof: 'proven' })
  expect(next.report.missing + next.report.held).toBe(strangers)
})
