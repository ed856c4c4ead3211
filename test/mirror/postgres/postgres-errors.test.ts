import { describe, expect, test } from 'vitest'
import { MirrorUnusable } from '../../../src/errors/errors.ts'
import { isLost, postgresError } from '../../../src/mirror/postgres/connection/postgres-errors.ts'

const ADDRESS = 'postgres://db.test/crm'

test.each([
  ...[
    ['53100', 'full'],
    ['53300', 'unreachable'],
    ['57P01', 'unreachable'],
    ['57P03', 'unreachable'],
    ['25P04', 'unreachable'],
  ],
  ...[
    ['08006', 'unreachable'],
    ['ECONNREFUSED', 'unreachable'],
    ['ECONNRESET', 'unreachable'],
    ['ENOTFOUND', 'unreachable'],
  ],
  ...[
    ['28P01', 'unreadable'],
    ['28000', 'unreadable'],
    ['3D000', 'unreadable'],
    ['42501', 'unreadable'],
  ],
  ...[
    ['25006', 'read-only'],
    ['55P03', 'locked'],
    ['57014', 'locked'],
    ['40001', 'locked'],
  ],
  ...[
    ['42P01', 'replaced'],
    ['42P07', 'foreign'],
    ['XX001', 'corrupt'],
    ['58030', 'unreadable'],
  ],
  ...[
    ['SELF_SIGNED_CERT_IN_CHAIN', 'unreadable'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'unreadable'],
    ['EPIPE', 'unreachable'],
  ],
])('%s is mirror-%s, with the address and the code', (code, expected) => {
  const error = postgresError(Object.assign(new Error('made up'), { code, detail: 'Ann Lee' }), ADDRESS)

  expect(error).toBeInstanceOf(MirrorUnusable)
  expect(error).toMatchObject({ code: `mirror-${expected}` })
  expect(String(error)).toMatch(new RegExp(`${ADDRESS}: .*\\. \\(${code}\\)$|${ADDRESS}: .*\\(${code}\\)$`))
  expect(JSON.stringify(error)).not.toContain('Ann')
})

test.each([
  ['The server does not support SSL connections', 'unreadable', /sslmode=disable/],
  ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', 'unreadable', /PGPASSWORD/],
  ['Connection terminated unexpectedly', 'unreachable', /broke/],
  ['timeout expired', 'unreachable', /in time/],
  ['Query read timeout', 'unreachable', /in time/],
  ['Invalid sslnegotiation value: "odd". Valid values are "postgres" and "direct".', 'unreadable', /PGSSLNEGOTIATION/],
  ['sslnegotiation=direct requires SSL to be enabled', 'unreadable', /PGSSLNEGOTIATION/],
])('%s is mirror-%s', (message, code, sentence) => {
  expect(postgresError(new Error(message), ADDRESS)).toMatchObject({
    code: `mirror-${code}`,
    message: expect.stringMatching(sentence),
  })
})

test.each([
  ['28000', 'no pg_hba.conf entry for host "10.0.0.7", user "ann", database "crm", no encryption', /without TLS/],
  ['28000', 'pg_hba.conf rejects connection for host "10.0.0.7", user "ann", database "crm", SSL off', /without TLS/],
  [
    '28000',
    'no pg_hba.conf entry for host "10.0.0.7", user "ann", database "crm", SSL encryption',
    /from this machine/,
  ],
  ['28000', 'role "ann" does not exist', /no such user/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'made up', /another host name/],
  ['CERT_HAS_EXPIRED', 'made up', /expired/],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'made up', /not signed by an authority.*sslrootcert/],
  ['EPROTO', 'SSL routines:tlsv1 alert protocol version', /no TLS 1\.2 or newer/],
  ['CERT_NOT_YET_VALID', 'made up', /clock/],
  ['28000', 'connection requires a valid client certificate', /shows none/],
  ['22023', 'invalid value for parameter "replication": "odd"', /PGREPLICATION/],
  ['0A000', 'cannot execute SQL commands in WAL sender for physical replication', /PGREPLICATION/],
  ['08P01', 'extended query protocol not supported in a replication connection', /PGREPLICATION/],
  ['42601', 'invalid command-line argument for server process: odd', /PGOPTIONS/],
  ['42704', 'unrecognized configuration parameter "odd"', /PGOPTIONS/],
  ['08P01', 'transaction blocks not allowed in statement pooling mode', /Have it use transaction mode/],
  ['08P01', 'no such database: crm', /does not lead to this database.*no such database: crm\. \(08P01\)$/],
  ['08P01', 'database "crm" does not exist', /does not lead to this database/],
  ['08P01', '"trust" authentication failed', /does not let this user in/],
  ['08P01', 'unsupported startup parameter: options', /PGOPTIONS/],
  ['08P01', 'unsupported startup parameter in options: search_path', /PGOPTIONS/],
  ['42501', 'query would be affected by row-level security policy for table "customers"', /BYPASSRLS/],
  ['42501', 'permission denied for table runs', /permission denied for table runs\. \(42501\)$/],
])('%s, %s: what to do follows', (code, message, sentence) => {
  expect(postgresError(Object.assign(new Error(message), { code }), ADDRESS)).toMatchObject({
    code: 'mirror-unreadable',
    message: expect.stringMatching(sentence),
  })
})

test.each([
  [
    'no more connections allowed (max_client_conn)',
    /has no connection left \(max_client_conn, pool_size\)\..*: no more con/,
  ],
  ['query_wait_timeout', /has no connection left/],
  ['database "crm" is disabled', /opens no connections to this database for now/],
])('a pooler that says %s is waited for, and is quoted', (said, sentence) => {
  const error = postgresError(Object.assign(new Error(said), { code: '08P01' }), ADDRESS)

  expect(error).toMatchObject({ code: 'mirror-unreachable', message: expect.stringMatching(sentence) })
  expect(String(error)).toContain(`${said}. (08P01)`)
})

test.each([
  [
    'is a standby while one server takes over from another',
    'cannot execute pg_current_xact_id() during recovery',
    'unreachable',
  ],
  ['is read-only by its settings', 'cannot execute INSERT in a read-only transaction', 'read-only'],
])('a server that %s', (_, said, code) => {
  const error = postgresError(Object.assign(new Error(said), { code: '25006' }), ADDRESS)

  expect(error).toMatchObject({ code: `mirror-${code}` })
})

test('a standby that ended a statement says what to set there', () => {
  const ended = Object.assign(new Error('canceling statement due to conflict with recovery'), { code: '40001' })

  expect(postgresError(ended, ADDRESS)).toMatchObject({
    code: 'mirror-locked',
    message: expect.stringContaining('hot_standby_feedback'),
  })
})

test('a server that cannot begin for want of room is full, and one that fails in itself is not a defect of this program', () => {
  const said = (message: string) => postgresError(Object.assign(new Error(message), { code: 'XX000' }), ADDRESS)

  expect(said('could not write init file')).toMatchObject({ code: 'mirror-full' })
  expect(said('cache lookup failed for Ann')).toMatchObject({
    code: 'mirror-unreadable',
    message: expect.stringMatching(/failed in itself.* \(XX000\)$/),
  })
  expect(String(said('cache lookup failed for Ann'))).not.toContain('Ann')
})

test('a host with several addresses is described by the first of them', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED ::1:5432'), { code: 'ECONNREFUSED' })

  expect(postgresError(new AggregateError([refused]), ADDRESS)).toMatchObject({ code: 'mirror-unreachable' })
})

test('errors that are not of PostgreSQL stay as they are', () => {
  for (const error of [new TypeError('made up'), new MirrorUnusable('made up', { code: 'full' }), 'made up'])
    expect(postgresError(error, ADDRESS)).toBe(error)
})

describe('whether the connection is gone', () => {
  test.each([
    [{ code: '57P01' }, true],
    [{ code: '25P03' }, true],
    [{ code: '25P04' }, true],
    [{ code: 'ECONNRESET' }, true],
    [{ code: 'EPIPE' }, true],
    [{ code: '57014' }, false],
    [{ code: '23505' }, false],
    [{ code: '53100' }, false],
    [{}, false],
  ])('%o: %s', (details, lost) => {
    expect(isLost(Object.assign(new Error('made up'), details))).toBe(lost)
  })
})

test('a publication that keeps a table from being changed is named with that table, and is no defect of ours', () => {
  const message = 'cannot update table "dictionary" because it does not have a replica identity and publishes updates'

  expect(postgresError(Object.assign(new Error(message), { code: '55000' }), ADDRESS)).toMatchObject({
    code: 'mirror-foreign',
    message: expect.stringMatching(/publication.*REPLICA IDENTITY FULL.*table "dictionary" because.*\(55000\)$/),
  })
})
