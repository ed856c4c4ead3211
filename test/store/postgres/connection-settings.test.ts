import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { expect, test } from 'vitest'
import { connectionSettings, schemaOf } from '../../../src/store/port/postgres-connections.ts'
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
