import { constants } from 'node:os'
import Database from 'better-sqlite3'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { codeOf, seenIn, tlsFailure } from '../../src/errors/faults.ts'
import { copyError } from '../../src/copies/copy-error.ts'
import { fileError, sqliteError } from '../../src/store/port/sqlite-errors.ts'

const FILE = './data/customers.db'

test.each([
  ['SQLITE_NOTADB', 'foreign'],
  ['SQLITE_CORRUPT_INDEX', 'damaged'],
  ['SQLITE_IOERR_READ', 'damaged'],
  ['SQLITE_FULL', 'full'],
  ['SQLITE_IOERR_WRITE', 'full'],
  ['SQLITE_IOERR_SHMSIZE', 'full'],
  ['SQLITE_READONLY_DBMOVED', 'denied'],
  ['SQLITE_CANTOPEN', 'denied'],
  ['SQLITE_BUSY_SNAPSHOT', 'busy'],
  ['SQLITE_PROTOCOL', 'busy'],
])('%s is reported as %s, with the file, the code, what to do and the cause', (code, fault) => {
  const cause = new Database.SqliteError('what SQLite says', code)

  expect(sqliteError(cause, FILE)).toMatchObject({
    ...{ name: 'MirrorUnusable', code: fault, cause },
    message: expect.stringMatching(new RegExp(`^${FILE}: what SQLite says \\(${code}\\)\\. [A-Z].*\\.$`)),
  })
})

test.each([
  ['ENOSPC', 'full', 'full'],
  ['EDQUOT', 'full', 'full'],
  ['EIO', 'full', 'full'],
  ['EMFILE', 'busy', 'busy'],
  ['EACCES', 'denied', 'usage'],
  ['EROFS', 'denied', 'usage'],
  ['ENOTDIR', 'denied', 'usage'],
  ['ENAMETOOLONG', 'denied', 'usage'],
])('the system error %s is %s for the mirror, and %s for a copy, with the failed call', (code, fault, ofCopy) => {
  const cause = Object.assign(new Error(`${code}: what the system says, open '${FILE}'`), { code, syscall: 'open' })
  const said = `${FILE}: what the system says (open, ${code}). `

  expect(fileError(cause, FILE)).toMatchObject({ code: fault, cause, message: expect.stringContaining(said) })
  expect(copyError(cause, FILE)).toMatchObject({
    ...{ code: ofCopy, cause },
    message: expect.stringContaining(`${said}What was there before is unchanged. `),
  })
})

test.each([`Unknown system error -${constants.errno.EDQUOT}`, 'UNKNOWN'])(
  'a quota that is used up has its name, though Node has none for it: %s',
  (code) => {
    const error = Object.assign(new Error(code), { errno: -constants.errno.EDQUOT, code, syscall: 'write' })

    expect(seenIn(error)).toEqual({ fault: 'full', said: 'it failed (write, EDQUOT)' })
    expect(codeOf(Object.assign(new Error('made up'), { errno: -9999, code: 'UNKNOWN' }))).toBe('UNKNOWN')
  },
)

test('other errors stay unchanged', () => {
  const broken = new Database.SqliteError('UNIQUE constraint failed', 'SQLITE_CONSTRAINT_UNIQUE')
  const defect = new TypeError('not a function')

  for (const error of [broken, defect]) {
    expect(sqliteError(error, FILE)).toBe(error)
    expect(fileError(error, FILE)).toBe(error)
    expect(copyError(error, FILE)).toBe(error)
  }
})

test('a system error is not taken for one of the file while SQLite writes', () => {
  expect(() => readFileSync('/nowhere/at/all')).toThrow(
    expect.toSatisfy((error: unknown) => sqliteError(error, FILE) === error),
  )
})

test('a TLS connection that fails is told in the words of Node.js or OpenSSL, with one sentence', () => {
  const alert =
    'write EPROTO C0B7:error:0A00042E:SSL routines:ssl3_read_bytes:tlsv1 alert protocol version:ssl/record.c:9:SSL alert number 70'

  expect(tlsFailure('CERT_HAS_EXPIRED', 'certificate has expired')).toEqual({
    what: 'no trusted TLS connection came about: certificate has expired',
    fix: expect.stringMatching(/the clock here\..*NODE_EXTRA_CA_CERTS.*NODE_USE_SYSTEM_CA=1/),
  })
  expect(tlsFailure('EPROTO', alert)?.what).toBe('no trusted TLS connection came about: tlsv1 alert protocol version')
  for (const code of ['ECONNRESET', 'ENOTFOUND', 'UND_ERR_SOCKET', '08006', ''])
    expect(tlsFailure(code, alert)).toBeUndefined()
})
