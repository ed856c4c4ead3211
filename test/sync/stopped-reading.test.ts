import { expect, test } from 'vitest'
import { ContractBroken, SourceRefused } from '../../src/errors/errors.ts'
import { readingErrors } from '../../src/sync/stopped-reading.ts'
import { listScan } from '../../src/scan/list-scan.ts'

const WINDOW = { page: 2, size: 13 }

test.each([
  ['page-mismatch', true],
  ['size-refused', true],
  ['repeated-page', false],
  ['cached-answer', false],
] as const)('a reading that stopped by %s says whether a plain scan may help: %s', (failure, mayHelp) => {
  const certificate = { ...listScan().certificate(), stoppedAt: { window: WINDOW, failure } }
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
    const certificate = { ...listScan().certificate(), stoppedAt: { window: WINDOW, failure } }

    expect(() => readingErrors('acme').refuseUnfinished(certificate)).toThrow(expect.objectContaining(expected))
  },
)

test('a reading ends with the latest error of the kind that stopped it, and with the 404 that a page is', async () => {
  const missing = new SourceRefused('404', { code: 'not-found', status: 404 })
  const [first, latest] = [1, 2].map((page) => new ContractBroken(`page ${page}`, { code: 'page-mismatch' }))
  const errors = readingErrors('acme')
  await errors.watch(Promise.resolve({ refusal: missing }))
  for (const error of [first, latest]) await expect(errors.watch(Promise.reject(error))).rejects.toBe(error)
  const endedBy = (failure: 'not-found' | 'page-mismatch') => () =>
    errors.refuseUnfinished({ ...listScan().certificate(), stoppedAt: { window: WINDOW, failure } })

  expect(endedBy('not-found')).toThrow(missing)
  expect(endedBy('page-mismatch')).toThrow(latest)
  expect(() => errors.refuseUnfinished(listScan().certificate())).not.toThrow()
})
