import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { expect, test } from 'vitest'
import { MirrorUnusable } from '../../../src/errors/errors.ts'
import { connectionSettings, schemaOf } from '../../../src/store/port/postgres-connections.ts'
import { isLost, postgresError } from '../../../src/store/port/postgres-errors.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

test('the driver gets the parts of the address, decoded, and nothing that it would read in its own way', () => {
  const address = 'postgres://an%40n:hun%2Fter2@db.test:5433/cr%6D?schema=mirror_2&sslmode=disable'

  expect(connectionSettings(address)).toEqual({
    ...{ host: 'db.test', port: 5433, user: 'an@n', password: 'hun/ter2', database: 'crm', ssl: false },
  })
  expect(schemaOf(address)).toBe('mirror_2')
  expect(connectionSettings('postgres:///crm?host=/var/run/postgresql')).toEqual({
    ...{ host: '/var/run/postgresql', database: 'crm', ssl: false },
  })
})

const [AUTHORITY = ''] = rootCertificates

test.each([
  ['', { rejectUnauthorized: false }],
  ['sslmode=require', { rejectUnauthorized: false }],
  ['sslrootcert=FILE', { ca: AUTHORITY, rejectUnauthorized: true, checkServerIdentity: expect.any(Function) }],
  [
    'sslmode=verify-ca&sslrootcert=FILE',
    { ca: AUTHORITY, rejectUnauthorized: true, checkServerIdentity: expect.any(Function) },
  ],
  ['sslmode=verify-full&sslrootcert=FILE', { ca: AUTHORITY, rejectUnauthorized: true }],
  ['sslmode=verify-full', { rejectUnauthorized: true }],
])('what TLS checks follows from the address alone: %s', (query, ssl) => {
  const file = join(temporaryFolder(), 'authority.pem')
  writeFileSync(file, AUTHORITY)

  expect(connectionSettings(`postgres://db.test/crm?${query.replace('FILE', file)}`).ssl).toEqual(ssl)
})

test.each([
  ['is a folder', (file: string) => mkdirSync(file), /cannot be read \(EISDIR\)/],
  ['is not there', () => {}, /cannot be read \(ENOENT\)/],
  ['holds no certificate', (file: string) => writeFileSync(file, 'authority'), /holds no whole certificate/],
  ['holds half of one', (file: string) => writeFileSync(file, AUTHORITY.slice(0, 300)), /holds no whole certificate/],
])('a file of certificates that %s is named, before the server is asked', (_, make, said) => {
  const file = join(temporaryFolder(), 'authority.pem')
  make(file)
  const settings = () =>
    connectionSettings(`postgres://ann:hunter2@db.test/crm?sslmode=verify-full&sslrootcert=${file}`)

  expect(settings).toThrow(said)
  expect(settings).toThrow(`postgres://db.test/crm: sslrootcert names ${file}, `)
})

test('each connection trusts what the file of certificates holds then, and what it held last while it cannot be used', () => {
  const [, other = ''] = rootCertificates
  const file = join(temporaryFolder(), 'authority.pem')
  writeFileSync(file, AUTHORITY)
  const { ssl } = connectionSettings(`postgres://db.test/crm?sslmode=verify-full&sslrootcert=${file}`)
  // As the driver does when it connects.
  const trusted = () => ({ ...Object(ssl) })

  expect(trusted()).toEqual({ ca: AUTHORITY, rejectUnauthorized: true })
  writeFileSync(file, other)
  expect(trusted()).toEqual({ ca: other, rejectUnauthorized: true })
  writeFileSync(file, AUTHORITY.slice(0, 300))
  expect(trusted()).toEqual({ ca: other, rejectUnauthorized: true })
  rmSync(file)
  expect(trusted()).toEqual({ ca: other, rejectUnauthorized: true })
})

const ADDRESS = 'postgres://db.test/crm'

test.each([
  ['53100', 'could not extend file "base/1/2": No space left on device', 'full'],
  ['58030', 'could not read block 7', 'full'],
  ['53300', 'sorry, too many clients already', 'gone'],
  ['57P01', 'terminating connection due to administrator command', 'gone'],
  ['25P04', 'terminating connection due to transaction timeout', 'gone'],
  ['08006', 'connection failure', 'gone'],
  ['08P01', 'no more connections allowed (max_client_conn)', 'gone'],
  ['08P01', 'query_wait_timeout', 'gone'],
  ['08P01', 'database "crm" is disabled', 'gone'],
  ['25006', 'cannot execute pg_current_xact_id() during recovery', 'gone'],
  ['25006', 'cannot execute INSERT in a read-only transaction', 'denied'],
  ['28P01', 'password authentication failed for user "ann"', 'denied'],
  ['28000', 'role "ann" does not exist', 'denied'],
  ['28000', 'no pg_hba.conf entry for host "10.0.0.7", user "ann", database "crm", no encryption', 'denied'],
  ['3D000', 'database "crm" does not exist', 'denied'],
  ['42501', 'permission denied for table runs', 'denied'],
  ['22023', 'invalid value for parameter "replication": "odd"', 'denied'],
  ['0A000', 'cannot execute SQL commands in WAL sender for physical replication', 'denied'],
  ['42601', 'invalid command-line argument for server process: odd', 'denied'],
  ['42704', 'unrecognized configuration parameter "odd"', 'denied'],
  ['08P01', 'transaction blocks not allowed in statement pooling mode', 'denied'],
  ['08P01', 'no such database: crm', 'denied'],
  ['08P01', 'unsupported startup parameter: options', 'denied'],
  ['55P03', 'canceling statement due to lock timeout', 'busy'],
  ['57014', 'canceling statement due to statement timeout', 'busy'],
  ['40001', 'canceling statement due to conflict with recovery', 'busy'],
  ['42P01', 'relation "runs" does not exist', 'replaced'],
  ['42703', 'column "name" does not exist', 'foreign'],
  ['55000', 'cannot update table "dictionary" because it does not have a replica identity', 'foreign'],
  ['54000', 'index row size 2712 exceeds btree version 4 maximum 2704', 'foreign'],
  ['XX001', 'invalid page in block 7 of relation base/1/2', 'damaged'],
])('%s, %s: the fault with what the server says, the code, and what to do', (code, message, fault) => {
  const error = postgresError(Object.assign(new Error(message), { code, detail: 'Ann Lee' }), ADDRESS)
  const quoted = code === '22023' ? 'a statement failed' : message

  expect(error).toBeInstanceOf(MirrorUnusable)
  expect(error).toMatchObject({ code: fault })
  expect(String(error)).toContain(`${ADDRESS}: ${quoted} (SQLSTATE ${code}). `)
  expect(JSON.stringify(error)).not.toContain('Ann')
})

test.each([
  ['ECONNREFUSED', 'gone', /\(connect, ECONNREFUSED\)\. Start the server/],
  ['ENOTFOUND', 'gone', /\(connect, ENOTFOUND\)\. Start the server, or repair the way to it/],
  ['EPIPE', 'gone', /\(connect, EPIPE\)\. Start the server/],
  ['EACCES', 'denied', /\(connect, EACCES\)\. Check the address/],
  [
    'CERT_HAS_EXPIRED',
    'denied',
    /no trusted TLS connection came about: made up \(connect, CERT_HAS_EXPIRED\)\. .*the clock here/,
  ],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'denied', /NODE_EXTRA_CA_CERTS.*sslrootcert/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'denied', /the certificate there.*sslmode/],
])('%s on the way to the server is %s', (code, fault, said) => {
  const error = postgresError(Object.assign(new Error('made up'), { code, syscall: 'connect' }), ADDRESS)

  expect(error).toMatchObject({ code: fault, message: expect.stringMatching(said) })
})

test.each([
  ['The server does not support SSL connections', 'denied'],
  ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', 'denied'],
  ['Invalid sslnegotiation value: "odd". Valid values are "postgres" and "direct".', 'denied'],
  ['Connection terminated unexpectedly', 'gone'],
  ['timeout expired', 'gone'],
  ['Query read timeout', 'gone'],
])('what the driver says is quoted: %s is %s', (message, code) => {
  expect(postgresError(new Error(message), ADDRESS)).toMatchObject({
    code,
    message: expect.stringContaining(`${ADDRESS}: ${message.replace(/\.$/, '')}. `),
  })
})

test.each([
  ['22001', { table: 'customers', column: 'name' }, 'table customers, column name'],
  ['23514', { table: 'customers', constraint: 'no_ann' }, 'table customers, constraint no_ann'],
  ['P0001', { where: 'PL/pgSQL function refuse_ann() line 3 at RAISE' }, 'function refuse_ann'],
  ['XX000', {}, ''],
])('%s may quote values of rows, and is told by names alone', (code, names, said) => {
  const error = postgresError(Object.assign(new Error('Ann Lee'), { code, ...names }), ADDRESS)
  const named = said === '' ? '' : `, ${said}`

  expect(error).toMatchObject({ code: code === 'XX000' ? 'damaged' : 'foreign' })
  expect(String(error)).toContain(`${ADDRESS}: a statement failed${named} (SQLSTATE ${code}). `)
  expect(String(error)).not.toContain('Ann')
})

test.each([
  ['53300', 'sorry, too many clients already'],
  ['53300', 'too many connections for role "mirror"'],
  ['53300', 'remaining connection slots are reserved for roles with the SUPERUSER attribute'],
  ['08P01', 'no more connections allowed (max_client_conn)'],
  ['08P01', 'query_wait_timeout'],
  [undefined, 'timeout exceeded when trying to connect'],
  [undefined, 'timeout expired'],
])('a server or a pooler without a free connection: %s %s', (code, message) => {
  expect(postgresError(Object.assign(new Error(message), code && { code }), ADDRESS)).toMatchObject({
    code: 'gone',
    message: expect.stringMatching(
      /If all its connections are taken, allow more: .*pool_size.* up to 16\. Start the server/,
    ),
  })
})

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
])('whether the connection is gone after %o: %s', (details, lost) => {
  expect(isLost(Object.assign(new Error('made up'), details))).toBe(lost)
})
