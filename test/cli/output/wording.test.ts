import { expect, test } from 'vitest'
import { summary } from '../../../src/cli/output/wording.ts'
import { emptyReport } from '../../../src/model/report.ts'
import { START_MS } from '../../support/builders.ts'

test('removed customers that are listed again are called returned', () => {
  const report = emptyReport({ organization: 'acme', trigger: 'sync', startedAtMs: START_MS })
  const run = { ...report, status: 'complete' as const, received: 253, updated: 1, unchanged: 252, returned: 1 }

  expect(summary(run)).toMatch(/^253 customers: 1 changed, 252 unchanged, 1 returned · /)
})
