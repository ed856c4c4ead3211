import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/config/read-config.ts'
import { shownMirror } from '../../src/address/mirror-address.ts'
import { DEFAULT_SCHEMA, parsePostgresAddress } from '../../src/address/postgres-address.ts'
import { acme, aFolder, configOf, linesOf, mistakesIn } from './configuration-folder.ts'

const MISSPELT =
  'must be the path of a file, or a postgres:// address without quotes, such as postgres://user@host:5432/database'

const PLACE = 'customer-mirror.yaml:1:9 mirror: '

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

test.each([
  [
    'a password',
    'postgres://mirror:hunter2@db/customers',
    'must not hold a password: put the address with it in the environment variable CUSTOMER_MIRROR_MIRROR, or the password in PGPASSWORD',
  ],
  [
    'an unknown parameter',
    'postgres://db/customers?schemas=a',
    'has the parameter schemas: known are schema, sslmode, sslrootcert and host',
  ],
  [
    'a part of a password as a parameter',
    'postgres://db/customers?hunter2!=a',
    'has an unknown parameter: known are schema, sslmode, sslrootcert and host',
  ],
  ['a parameter twice', 'postgres://db/customers?schema=a&schema=b', 'gives schema twice: keep one'],
  ['no database', 'postgres://db', 'must name one database: write postgres://user@host:5432/database'],
  [
    'two servers',
    'postgres://a,b/customers',
    'names several servers: name one, such as a name that always leads to the primary',
  ],
  [
    'a bad port',
    'postgres://db:abc/customers',
    'has a port that is no number from 1 to 65535; write a / of a password as %2F',
  ],
  ['a bad escape', 'postgres://db/100%', 'has a % that does not begin an escape: write % itself as %25'],
  [
    'a schema with capitals',
    'postgres://db/customers?schema=Mirror',
    'has a bad schema: at most 63 lower-case letters, digits and underscores, the first no digit',
  ],
  [
    'a TLS mode that may send in the clear',
    'postgres://db/customers?sslmode=prefer',
    'has a bad sslmode: it must be one of disable, require, verify-ca, verify-full',
  ],
  [
    'a password with a / in it, after digits',
    'postgres://user:12/hunter2@db',
    'has a / before its last @: write a / of a name or a password as %2F, and an @ as %40',
  ],
  ['an address without postgres://', 'user:hunter2@db/c', MISSPELT],
  ['quotes that stayed around an address', `'"postgres://user:hunter2@db/c"'`, MISSPELT],
  ['the form of libpq', 'host=db user=mirror password=hunter2 dbname=c', MISSPELT],
  ['the form of ODBC and .NET', 'Server=db;Database=c;Pwd=hunter2', MISSPELT],
  ['the folder of the user', '~/c.db', 'must be a full path: ~ is not expanded here'],
  ['a variable', '$HOME/c.db', 'must be a full path: variables such as $HOME are not expanded here'],
  ['a mirror in memory', '":memory:"', 'must be a file: a mirror in memory would be lost'],
  ['a folder that is not there', './data/', 'must name a file, such as ./data/customers.db, and not a folder'],
])(
  'a mirror that cannot be used is a mistake with its place, and no secret is repeated: %s',
  async (_name, address, message) => {
    expect(await mistakesIn(`mirror: ${address}\n${acme()}`)).toEqual([PLACE + message])
  },
)

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

  expect(parsed).toMatchObject({ address: { database: 'c', schema: DEFAULT_SCHEMA, tls } })
})
