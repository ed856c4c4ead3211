/** Why no TLS connection to a server came about, and what to do about it: a clause, and sentences. */
export type TlsFailure = { what: string; fix: string }

/**
 * What a failed TLS connection means, by the code that Node gives the error; undefined for the code of anything else. Where OpenSSL
 * failed, the code may be EPROTO alone, and `said`, the message of the error, holds its words.
 */
export function tlsFailure(code: string, said: string): TlsFailure | undefined {
  if (!TLS.test(code)) return undefined
  const [, what, fix] = MEANINGS.find(([pattern]) => pattern.test(`${code}: ${said}`)) ?? OTHERWISE
  return { what, fix }
}

const TLS = /^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH$|EPROTO$)/

/** The first that fits holds. */
const MEANINGS: readonly [pattern: RegExp, what: string, fix: string][] = [
  [
    /^CERT_HAS_EXPIRED/,
    'the certificate of the server has expired',
    'Renew it there; if it is valid, set the clock of this machine.',
  ],
  [
    /^CERT_NOT_YET_VALID/,
    'the certificate of the server is not valid yet',
    'Set the clock of this machine; if it is right, replace the certificate there.',
  ],
  [
    /^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)/,
    'the certificate of the server is for another host name',
    'Name the host as its certificate does.',
  ],
  [
    /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/,
    'the certificate of the server is not signed by an authority that Node.js trusts; by itself it does not use those of this machine',
    'Name the file of the right authority in NODE_EXTRA_CA_CERTS, or set NODE_USE_SYSTEM_CA=1 to trust those of this machine.',
  ],
  [
    /PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|protocol version|unsupported protocol/,
    'the server speaks no TLS 1.2 or newer',
    'Turn it on there.',
  ],
  [
    /CERTIFICATE_REQUIRED|BAD_CERTIFICATE|certificate required|bad certificate/,
    'the server asks for a certificate of the client, and Customer Mirror shows none',
    'Let this machine in without one there, or put a proxy in between that shows one.',
  ],
  [
    /HANDSHAKE_FAILURE|handshake failure/,
    'the server broke off the TLS handshake',
    'Its log says why: it may ask for a certificate of the client, and Customer Mirror shows none, or for ciphers that Node.js does not offer.',
  ],
]

const OTHERWISE = [
  undefined,
  'no TLS connection to the server came about',
  'Check the host and the port, and that the server offers TLS there.',
] as const
