import { expect, test } from 'vitest'
import { tlsFailure } from '../../src/errors/tls-failure.ts'

const ALERT = 'SSL routines:ssl3_read_bytes:tlsv1 alert protocol version:SSL alert number 70'

test.each([
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', '', /not signed by an authority/, /NODE_EXTRA_CA_CERTS.*NODE_USE_SYSTEM_CA=1/],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', '', /not signed by an authority/, /NODE_EXTRA_CA_CERTS/],
  ['SELF_SIGNED_CERT_IN_CHAIN', '', /not signed by an authority/, /NODE_EXTRA_CA_CERTS/],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', '', /not signed by an authority/, /NODE_EXTRA_CA_CERTS/],
  ['CERT_SIGNATURE_FAILURE', '', /not signed by an authority/, /NODE_EXTRA_CA_CERTS/],
  ['CERT_HAS_EXPIRED', '', /has expired/, /Renew it.*clock/],
  ['CERT_NOT_YET_VALID', '', /not valid yet/, /clock/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', '', /another host name/, /Name the host/],
  ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', '', /no TLS 1\.2 or newer/, /Turn it on/],
  ['EPROTO', ALERT, /no TLS 1\.2 or newer/, /Turn it on/],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', '', /a certificate of the client/, /without one/],
  ['ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', '', /broke off/, /a certificate of the client.*ciphers/],
  [
    'EPROTO',
    'SSL routines:ssl3_read_bytes:ssl/tls alert handshake failure',
    /broke off/,
    /a certificate of the client/,
  ],
  ['ERR_SSL_WRONG_VERSION_NUMBER', '', /no TLS connection/, /offers TLS there/],
])('%s %s is described with what to do', (code, said, what, fix) => {
  expect(tlsFailure(code, said)).toEqual({ what: expect.stringMatching(what), fix: expect.stringMatching(fix) })
})

test.each(['ECONNRESET', 'ENOTFOUND', 'UND_ERR_SOCKET', '08006', ''])('%j is no failure of TLS', (code) => {
  expect(tlsFailure(code, ALERT)).toBeUndefined()
})
