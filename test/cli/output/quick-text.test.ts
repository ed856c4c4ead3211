import { expect, test } from 'vitest'
import { quickText } from '../../../src/cli/output/advice.ts'
import { emptyReport } from '../../../src/model/report.ts'
import { START_MS } from '../../support/builders.ts'

const REPORT = { ...emptyReport({ organization: 'acme', trigger: 'sync', startedAtMs: START_MS }), trustedPages: 8 }

test.each([
  [['quick'], {}, 'nothing new, none missing'],
  [['quick', 'not-confirmed'], {}, 'nothing new, none confirmed as missing'],
  [['quick', 'not-confirmed'], { inserted: 2, missing: 1 }, '2 new, 1 missing'],
])('a quick run with the reasons %j and the counts %j says %s', (reasons, counts, said) => {
  const report = { ...REPORT, status: 'partial' as const, reasons, pages: 4, ...counts }

  expect(quickText([report])).toBe(`acme: ${said}; 8 of 12 pages trusted without reading\n`)
})
