import { constants } from 'node:os'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { type Circumstances, verdictOf } from '../jobs/run-job.ts'
import { copyError } from '../src/copies/copy-error.ts'
import { type ErrorFacts, ERRORS, factsOfCode, isErrorCode } from '../src/errors/error-facts.ts'
import * as errors from '../src/errors/errors.ts'
import { codeOf, seenIn, tlsFailure } from '../src/errors/faults.ts'
import { fileError, sqliteError } from '../src/store/port/sqlite-errors.ts'
import { readProgram } from './support/program.ts'

const ROWS = Object.entries<ErrorFacts>(ERRORS).flatMap(([code, facts]) => (isErrorCode(code) ? [{ code, facts }] : []))

const CIRCUMSTANCES: Circumstances = {
  ...{ waitedMs: 0, maxWaitMs: 3_600_000, startsLeft: 9, timings: { leasedWaitMs: 30_000, mirrorWaitMs: 20_000 } },
  ...{ kind: 'sync', stopping: false, lockLost: false },
}

test('the table of errors has a title and a fix for each code, and asks people to report defects of this program and nothing else', () => {
  for (const { facts } of ROWS) {
    expect(facts.title).toMatch(/^\S.*\S$/)
    expect(facts.fix).toMatch(/^[A-Z].*\.$/)
  }
  const defects = ROWS.filter(({ facts }) => facts.title === 'unexpected' || /please report it/i.test(facts.fix))
  expect(defects.map(({ code }) => code)).toEqual(['accounting'])
})

test('an unknown code has the facts of a defect', () => {
  for (const code of ['made-up', '', 'constructor', '__proto__', 'unexpected']) {
    expect(isErrorCode(code)).toBe(false)
    expect(factsOfCode(code)).toMatchObject({ again: 'retry', exitCode: 1, resumable: false, title: 'unexpected' })
  }
  // The codes of other programs are not ours, even where they are the same word.
  expect(errors.factsOf(Object.assign(new Error('made up'), { code: 'network' }))).toBe(factsOfCode('unexpected'))
})

test.each(ROWS)('all decisions about $code follow its row', ({ code, facts }) => {
  const error = errors.reportedError({ code, message: 'made up' })

  expect(errors.describeError(error)).toEqual({ code, message: 'made up' })
  expect(errors.isOurs(error)).toBe(true)
  expect(errors.factsOf(error)).toBe(facts)
  expect(errors.windowFailureOf(error)).toBe(facts.window)
  if (facts.from === 'stop' || facts.from === 'other-version') return
  expect(verdictOf(error, CIRCUMSTANCES).kind).toBe(facts.again === 'never' ? 'give-up' : facts.again)
})

test('only errors of the service concern one window, or allow the same request again, and of its outages only a 500 does', () => {
  const ours = ROWS.filter(({ facts }) => !['answer', 'outage'].includes(facts.from))
  const failed = (status: number) => new errors.SourceUnavailable('made up', { code: 'server-error', status })

  expect(ours.filter(({ facts }) => facts.window !== undefined || facts.askAgain !== 'never')).toEqual([])
  expect([500, 502, 503, 504].map((status) => errors.windowFailureOf(failed(status)))).toEqual(['hole', ...Array(3)])
  for (const thrown of [undefined, null, 'a text', { code: 'not-utf8', status: 500 }, new TypeError('made up')])
    expect(errors.windowFailureOf(thrown)).toBeUndefined()
})

test('every error that one file throws for another has a class of errors.ts', () => {
  const others = readProgram()
    .filter(({ path }) => /^(src|jobs)\//.test(path) && path !== 'src/errors/errors.ts')
    .flatMap(({ code }) => [...code.matchAll(/\bclass (\w+) extends \w*Error\b/g)].map(([, name]) => name))

  // The wishes of a queue, a timer, a transaction and a mirror without customers to serve: they become an error of the table, an answer or none.
  expect(new Set(others)).toEqual(new Set(['NotMirrored', 'RunFailed', 'TimedOut', 'UnreadableValue']))
})

const FILE = './data/customers.db'

test.each([
  ['SQLITE_NOTADB', 'foreign'],
  ['SQLITE_IOERR_READ', 'damaged'],
  ['SQLITE_FULL', 'full'],
  ['SQLITE_IOERR_WRITE', 'full'],
  ['SQLITE_READONLY_DBMOVED', 'denied'],
  ['SQLITE_BUSY_SNAPSHOT', 'busy'],
])('%s is reported as %s, with the file, the code, what to do and the cause', (code, fault) => {
  const cause = new Database.SqliteError('what SQLite says', code)

  expect(sqliteError(cause, FILE)).toMatchObject({
    ...{ name: 'MirrorUnusable', code: fault, cause },
    message: expect.stringMatching(new RegExp(`^${FILE}: what SQLite says \\(${code}\\)\\. [A-Z].*\\.$`)),
  })
})

test.each([
  ['ENOSPC', 'full', 'full'],
  ['EIO', 'full', 'full'],
  ['EMFILE', 'busy', 'busy'],
  ['EACCES', 'denied', 'usage'],
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

test('a quota that is used up has its name, though Node has none for it', () => {
  for (const code of [`Unknown system error -${constants.errno.EDQUOT}`, 'UNKNOWN']) {
    const error = Object.assign(new Error(code), { errno: -constants.errno.EDQUOT, code, syscall: 'write' })
    expect(seenIn(error)).toEqual({ fault: 'full', said: 'it failed (write, EDQUOT)' })
  }
  expect(codeOf(Object.assign(new Error('made up'), { errno: -9999, code: 'UNKNOWN' }))).toBe('UNKNOWN')
})

test('other errors stay unchanged', () => {
  const broken = new Database.SqliteError('UNIQUE constraint failed', 'SQLITE_CONSTRAINT_UNIQUE')
  const defect = new TypeError('not a function')

  for (const error of [broken, defect]) {
    expect(sqliteError(error, FILE)).toBe(error)
    expect(fileError(error, FILE)).toBe(error)
    expect(copyError(error, FILE)).toBe(error)
  }
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
