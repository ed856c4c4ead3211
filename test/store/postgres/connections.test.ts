import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { expect, test } from 'vitest'
import { MirrorUnusable } from '../../../src/errors/errors.ts'
import { connectionSettings, schemaOf } from '../../../src/store/port/postgres-connections.ts'
import { postgresError } from '../../../src/store/port/postgres-errors.ts'
import { temporaryFolder } from '../../support/mirror-file.ts'

test('the driver gets the parts of the address, decoded, and nothing that it would read in its own way', () => {
  const address = 'postgres://an%40n:hun%2Fter2@db.test:5433/cr%6D?schema=mirror_2&sslmode=disable'

  const parts = { host: 'db.test', port: 5433, user: 'an@n', password: 'hun/ter2', database: 'crm', ssl: false }
  expect(connectionSettings(address)).toEqual(parts)
  expect(schemaOf(address)).toBe('mirror_2')
  const local = { host: '/var/run/postgresql', database: 'crm', ssl: false }
  expect(connectionSettings('postgres:///crm?host=/var/run/postgresql')).toEqual(local)
})

const [AUTHORITY = ''] = rootCertificates
const ANY_NAME = { ca: AUTHORITY, rejectUnauthorized: true, checkServerIdentity: expect.any(Function) }

test.each([
  ['', { rejectUnauthorized: false }],
  ['sslmode=require', { rejectUnauthorized: false }],
  ['sslrootcert=FILE', ANY_NAME],
  ['sslmode=verify-ca&sslrootcert=FILE', ANY_NAME],
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
  const address = `postgres://ann:hunter2@db.test/crm?sslmode=verify-full&sslrootcert=${file}`
  const settings = () => connectionSettings(address)

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
  ['53400', 'temporary file size exceeds temp_file_limit (0kB)', 'full'],
  ['53300', 'sorry, too many clients already', 'gone', /If all its connections are taken, allow more: .*pool_size/],
  ['08P01', 'server conn crashed?', 'gone'],
  ['08P01', 'no such database: crm', 'denied'],
  ['25006', 'cannot execute INSERT in a read-only transaction', 'gone', /Start the server, have it accept writes, or/],
  ['28P01', 'password authentication failed for user "ann"', 'denied'],
  ['55000', 'cannot connect to invalid database "crm"', 'denied'],
  ['42501', 'permission denied for table runs', 'denied'],
  ['42601', 'invalid command-line argument for server process: odd', 'denied'],
  ['57014', 'canceling statement due to statement timeout', 'busy'],
  ['40001', 'canceling statement due to conflict with recovery', 'busy'],
  ['42P01', 'relation "runs" does not exist', 'replaced'],
  ['42703', 'column "name" does not exist', 'foreign'],
  ['XX001', 'invalid page in block 7 of relation base/1/2', 'damaged'],
  ['ECONNREFUSED', 'made up', 'gone', /\(connect, ECONNREFUSED\)\. Start the server/],
  ['EACCES', 'made up', 'denied', /\(connect, EACCES\)\. Check the address/],
  ['CERT_HAS_EXPIRED', 'made up', 'denied', /no trusted TLS connection came about: made up .*the clock here/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'made up', 'denied', /the certificate there.*sslmode/],
  ['', 'The server does not support SSL connections', 'denied', /crm: The server does not support SSL/],
  ['', 'Connection terminated unexpectedly', 'gone', /crm: Connection terminated unexpectedly\. /],
  ['', 'timeout expired', 'gone', /If all its connections are taken, allow more: .*pool_size/],
])('%s, %s: the fault with what the server says, the code, and what to do', (code, message, fault, said = /\. \w/) => {
  const isOfServer = /^[\dX]/.test(code)
  const told = isOfServer ? { code, detail: 'Ann Lee' } : code !== '' && { code, syscall: 'connect' }
  const error = postgresError(Object.assign(new Error(message), told), ADDRESS)

  expect(error).toBeInstanceOf(MirrorUnusable)
  expect(error).toMatchObject({ code: fault, message: expect.stringMatching(said) })
  if (isOfServer) expect(String(error)).toContain(`${ADDRESS}: ${message} (SQLSTATE ${code}). `)
  expect(JSON.stringify(error)).not.toContain('Ann')
})

test.each([
  ['22001', { table: 'customers', column: 'name' }, ', table customers, column name'],
  ['23514', { table: 'customers', constraint: 'no_ann' }, ', table customers, constraint no_ann'],
  ['P0001', { where: 'PL/pgSQL function refuse_ann() line 3 at RAISE' }, ', function refuse_ann'],
  ['XX000', {}, ''],
])('%s may quote values of rows, and is told by names alone', (code, names, said) => {
  const error = postgresError(Object.assign(new Error('Ann Lee'), { code, ...names }), ADDRESS)

  expect(error).toMatchObject({ code: code === 'XX000' ? 'damaged' : 'foreign' })
  expect(String(error)).toContain(`${ADDRESS}: a statement failed${said} (SQLSTATE ${code}). `)
  expect(String(error)).not.toContain('Ann')
})
