import { expect, test } from 'vitest'
import { storeError } from '../../../../src/reading/publish/bucket/store-error.ts'

const PLACE = 's3://copies/customers'

test.each([
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /NODE_EXTRA_CA_CERTS/],
  ['SELF_SIGNED_CERT_IN_CHAIN', /NODE_EXTRA_CA_CERTS/],
  ['CERT_HAS_EXPIRED', /expired/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', /another host name/],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', /a certificate of the client/],
  ['ERR_SSL_WRONG_VERSION_NUMBER', /no TLS connection/],
])('%s is reported with the place and what to do, and is no defect', (code, said) => {
  const error = storeError(Object.assign(new Error('made up'), { code }), PLACE, 'https://minio.example.com')

  expect(error).toMatchObject({ name: 'CopyFailed', code: 'copy-unwritable', message: expect.stringMatching(said) })
  expect(String(error)).toMatch(new RegExp(`${PLACE}: .* What was published before is unchanged\\. \\(${code}\\)$`))
})

test.each([
  ['Region is missing', {}, /Set publish\.region/],
  ['Region not accepted: region="a b" is not a valid hostname component.', {}, /Correct publish\.region/],
  [
    'ENOENT: no such file',
    { code: 'ENOENT', syscall: 'open' },
    /AWS_WEB_IDENTITY_TOKEN_FILE.*AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE/,
  ],
  ['Invalid parameter for "defaultsMode", expect standard, legacy, got fast', {}, /AWS_DEFAULTS_MODE/],
  ['Invalid character in header content', { code: 'ERR_INVALID_CHAR' }, /a line break/],
])('%s is put down to the settings, and not to the service', (message, facts, said) => {
  const error = storeError(Object.assign(new Error(message), facts), PLACE, 'https://minio.example.com')

  expect(error).toMatchObject({ name: 'CopyFailed', code: 'copy-unwritable', message: expect.stringMatching(said) })
})

test('an error without a name of its own ends with what to do, and not with "(Error)"', () => {
  const error = storeError(new Error('Region is missing'), PLACE, undefined)

  expect(error).toMatchObject({ message: expect.stringMatching(/What was published before is unchanged\.$/) })
})

test.each([
  ['RequestTimeout', 400],
  ['IncompleteBody', 400],
  ['OperationAborted', 409],
  ['ThrottlingException', 400],
  ['ClientDisconnected', 499],
  ['Error', 200],
])('%s is a matter of the moment, although its status is %i', (name, httpStatusCode) => {
  const error = Object.assign(new Error('made up'), { name, $metadata: { httpStatusCode } })

  expect(storeError(error, PLACE, undefined)).toMatchObject({ code: 'copy-unreachable' })
})

test.each([
  ['SignatureDoesNotMatch', 403, /Check AWS_ACCESS_KEY_ID.*a proxy on the way changes the Host/],
  ['Error', 413, /a proxy on the way takes no requests of this size/],
])('%s with status %i is put down to what may stand in between, too', (name, httpStatusCode, said) => {
  const error = Object.assign(new Error('made up'), { name, $metadata: { httpStatusCode } })

  expect(storeError(error, PLACE, 'https://minio.example.com')).toMatchObject({
    code: 'copy-unwritable',
    message: expect.stringMatching(said),
  })
})

test('a service that names a quota with 413 is full', () => {
  const full = Object.assign(new Error('made up'), { name: 'EntityTooLarge', $metadata: { httpStatusCode: 413 } })

  expect(storeError(full, PLACE, undefined)).toMatchObject({ code: 'copy-full' })
})

test('a port of another service, which does not speak HTTP, is no defect', () => {
  const other = Object.assign(new Error('Parse Error: Expected HTTP/'), { code: 'HPE_INVALID_CONSTANT' })

  expect(storeError(other, PLACE, 'http://127.0.0.1:6379')).toMatchObject({
    code: 'copy-unreachable',
    message: expect.stringMatching(
      /127\.0\.0\.1:6379 does not answer, .* Check the endpoint .*\(HPE_INVALID_CONSTANT\)$/,
    ),
  })
})

test('a host that is not known is no mistake in the settings', () => {
  const lost = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND', syscall: 'getaddrinfo' })

  expect(storeError(lost, PLACE, 'https://minio.example.com')).toMatchObject({ code: 'copy-unreachable' })
})
