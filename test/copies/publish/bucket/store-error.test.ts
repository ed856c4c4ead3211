import { expect, test } from 'vitest'
import { storeError } from '../../../../src/copies/objects/s3-store.ts'

const PLACE = 's3://copies/customers'

test.each([
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /NODE_EXTRA_CA_CERTS/],
  ['CERT_HAS_EXPIRED', /the clock here/],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', /no certificate of the client/],
])('%s is reported with the place, the call and what to do, and is no defect', (code, said) => {
  const error = storeError(Object.assign(new Error('made up'), { code }), PLACE, 'PutObject')

  expect(error).toMatchObject({ code: 'usage', message: expect.stringMatching(said) })
  expect(String(error)).toMatch(
    new RegExp(`${PLACE}: .* \\(PutObject, ${code}\\)\\. .* What was there before is unchanged\\. Check the bucket`),
  )
})

test.each([
  ['Region is missing', {}],
  ['Region not accepted: region="a b" is not a valid hostname component.', {}],
  ['ENOENT: no such file', { code: 'ENOENT', syscall: 'open' }],
  ['Invalid parameter for "defaultsMode", expect standard, legacy, got fast', {}],
  ['Invalid character in header content', { code: 'ERR_INVALID_CHAR' }],
])('%s is put down to the settings, and not to the service', (message, facts) => {
  const error = storeError(Object.assign(new Error(message), facts), PLACE, 'PutObject')

  expect(error).toMatchObject({ code: 'usage', message: expect.stringContaining(message.replace(/\.$/, '')) })
})

test.each([
  ['RequestTimeout', 400, 'gone'],
  ['OperationAborted', 409, 'gone'],
  ['ThrottlingException', 400, 'gone'],
  ['ClientDisconnected', 499, 'gone'],
  ['Error', 200, 'gone'],
  ['SlowDown', 503, 'gone'],
  ['SignatureDoesNotMatch', 403, 'usage'],
  ['NoSuchBucket', 404, 'usage'],
  ['PermanentRedirect', 301, 'usage'],
  ['Error', 413, 'usage'],
  ['EntityTooLarge', 413, 'full'],
  ['Error', 507, 'full'],
])('%s with status %i is %s, and what the service said is not repeated', (name, httpStatusCode, code) => {
  const error = storeError(
    Object.assign(new Error('made up'), { name, $metadata: { httpStatusCode } }),
    PLACE,
    'PutObject',
  )

  expect(error).toMatchObject({ code, message: expect.stringContaining('the service refused a request (PutObject, ') })
  expect(String(error)).not.toContain('made up')
})

test.each([
  ['HPE_INVALID_CONSTANT', 'Parse Error: Expected HTTP/'],
  ['ENOTFOUND', 'getaddrinfo ENOTFOUND'],
])('%s is no mistake in the settings, and no defect', (code, message) => {
  expect(storeError(Object.assign(new Error(message), { code }), PLACE, 'PutObject')).toMatchObject({
    code: 'gone',
    message: expect.stringMatching(new RegExp(`no answer \\(PutObject, ${code}\\)\\. .*Check the endpoint`)),
  })
})
