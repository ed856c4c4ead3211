import { expect, test } from 'vitest'
import { readingErrors } from '../../src/run/stopped-reading.ts'
import { chainScan } from '../../src/scan/chain-scan.ts'

const WINDOW = { page: 2, size: 13 }

test.each([
  ['page-mismatch', true],
  ['size-refused', true],
  ['repeated-page', false],
  ['cached-answer', false],
] as const)('a reading that stopped by %s says whether a plain scan may help: %s', (failure, mayHelp) => {
  const certificate = { ...chainScan().certificate(), stoppedAt: { window: WINDOW, failure } }
  const refuse = () => readingErrors('acme').refuseUnfinished(certificate)

  expect(refuse).toThrow('acme: the answer for page 2, per_page 13,')
  if (mayHelp) expect(refuse).toThrow('`scan: plain` with that pageSize reads it, without a proof.')
  else expect(refuse).not.toThrow('scan: plain')
})

test.each([
  ['hole', { name: 'SourceUnavailable', code: 'server-error' }],
  ['size-refused', { name: 'SourceRefused', code: 'unprocessable' }],
  ['too-large', { name: 'ContractBroken', code: 'too-large' }],
  ['not-found', { name: 'ContractBroken', code: 'page-mismatch' }],
] as const)(
  'a reading that stopped by %s of which no error is known ends with one of its kind',
  (failure, expected) => {
    const certificate = { ...chainScan().certificate(), stoppedAt: { window: WINDOW, failure } }

    expect(() => readingErrors('acme').refuseUnfinished(certificate)).toThrow(expect.objectContaining(expected))
  },
)
