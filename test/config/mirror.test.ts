import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/config/read-config.ts'
import { shownMirror } from '../../src/address/mirror-address.ts'
import { parsePostgresAddress } from '../../src/address/postgres-address.ts'
import { acme, aFolder, configOf, linesOf } from './configuration-folder.ts'

test.each([
  ['the usual', 'postgres://mirror@db.example.com:5432/customers'],
  ['a checked certificate', 'postgres://db.example.com/customers?sslmode=verify-full'],
  ['a socket', 'postgres:///customers?host=/var/run/postgresql'],
])('a mirror may be a PostgreSQL address, which is kept as written: %s', async (_name, address) => {
  expect((await configOf(`mirror: ${address}\n${acme()}`)).mirror).toBe(address)
})

test('the certificate that an address names starts from the folder of the configuration, as every path', async () => {
  const folder = await aFolder({ 'c.yaml': `mirror: postgres://db/customers?sslrootcert=ca.pem\n${acme()}` })
  const { mirror } = await readConfig({ cwd: '/', file: join(folder, 'c.yaml'), environment: {} })

  expect(new URL(mirror).searchParams.get('sslrootcert')).toBe(join(folder, 'ca.pem'))
})

test('CUSTOMER_MIRROR_MIRROR overrides the mirror of the file, and may hold a password', async () => {
  const folder = await aFolder({ 'customer-mirror.yaml': acme() })
  const read = (address: string) => readConfig({ cwd: folder, environment: { CUSTOMER_MIRROR_MIRROR: address } })
  const address = 'postgres://mirror:hunter2@db/customers'

  expect((await read(address)).mirror).toBe(address)
  expect((await read('other.db')).mirror).toBe(join(folder, 'other.db'))
  expect((await read('')).mirror).toBe(join(folder, 'data/customers.db'))
  expect(await linesOf(read('postgres://mirror:hunter2@db/a/b'))).toEqual([
    'environment CUSTOMER_MIRROR_MIRROR must name one database: write postgres://user@host:5432/database',
  ])
})

test('an address is shown without its user and password', () => {
  expect(shownMirror('postgres://mirror:hunter2@db:5433/customers?schema=a&sslmode=require')).toBe(
    'postgres://db:5433/customers?schema=a',
  )
  expect(shownMirror('postgresql://mirror:hun?ter2@db/customers')).not.toContain('ter2')
  expect(shownMirror('/data/customers.db')).toBe('/data/customers.db')
})

test.each([
  ['this machine', 'postgres://127.0.0.1/c', { mode: 'disable', rootCertificate: undefined }],
  ['another machine', 'postgres://db/c', { mode: 'require', rootCertificate: undefined }],
  ['an authority', 'postgres://db/c?sslmode=verify-ca&sslrootcert=/ca', { mode: 'verify-ca', rootCertificate: '/ca' }],
])('TLS is asked for wherever the address leaves this machine, unless it says otherwise: %s', (_name, text, tls) => {
  const parsed = parsePostgresAddress(text)

  expect(parsed).toMatchObject({ address: { database: 'c', schema: 'customer_mirror', tls } })
})
