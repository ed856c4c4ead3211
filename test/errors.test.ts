import { constants } from 'node:os'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { type Circumstances, verdictOf } from '../jobs/run/verdict.ts'
import { exitCodeOf } from '../src/cli/exit-code.ts'
import { copyError } from '../src/copies/copy-error.ts'
import { type ErrorCode, type ErrorFacts, ERRORS, factsOfCode, isErrorCode } from '../src/errors/error-facts.ts'
import * as errors from '../src/errors/errors.ts'
import { factsOf, reportedError, windowFailureOf } from '../src/errors/errors.ts'
import { codeOf, seenIn, tlsFailure } from '../src/errors/faults.ts'
import { fileError, sqliteError } from '../src/store/port/sqlite-errors.ts'
import { readProgram } from './support/program.ts'

/** Each row of the table: the code, and what follows. */
const ROWS = Object.entries<ErrorFacts>(ERRORS).flatMap(([code, facts]) => (isErrorCode(code) ? [{ code, facts }] : []))

/** An error with every code, as the program makes them: the compiler asks for codes that are added later. */
const MADE: Record<ErrorCode, Error> = {
  config: new errors.ConfigError([{ file: 'customer-mirror.yaml', message: 'made up' }]),
  usage: new errors.UsageError('made up'),
  ...each(
    ['unauthorized', 'forbidden', 'not-found', 'unprocessable'],
    (code) => new errors.SourceRefused('made up', { code, status: 400 }),
  ),
  'rate-limited': new errors.RateLimited('made up', {}),
  ...each(['network', 'tls'], (code) => new errors.SourceUnavailable('made up', { code })),
  'server-error': new errors.SourceUnavailable('made up', { code: 'server-error', status: 500 }),
  ...each(
    [
      ...(['bad-answer', 'not-utf8', 'too-large', 'page-mismatch', 'repeated-page'] as const),
      ...(['page-cap', 'cached-answer', 'tenant-mixup'] as const),
    ],
    (code) => new errors.ContractBroken('made up', { code }),
  ),
  ...each(
    ['full', 'busy', 'denied', 'damaged', 'missing', 'foreign', 'gone', 'version', 'replaced'],
    (code) => new errors.MirrorUnusable('made up', { code }),
  ),
  leased: new errors.OrganizationLeased('made up'),
  queue: new errors.QueueUnavailable('made up'),
  unhidden: new errors.CopyFailed('made up', { code: 'unhidden' }),
  accounting: new errors.AccountingBroken('made up'),
  interrupted: new errors.Interrupted('made up'),
  cancelled: new errors.Cancelled('made up'),
  'max-run': new errors.MaxRunReached('made up'),
}

const CIRCUMSTANCES: Circumstances = {
  ...{ waitedMs: 0, maxWaitMs: 3_600_000, startsLeft: 9, leasedWaitMs: 30_000, mirrorWaitMs: 20_000 },
  ...{ kind: 'sync', stopping: false, lockLost: false },
}

const PRODUCT = readProgram().filter(({ path }) => /^(src|jobs)\//.test(path))

describe('the table of errors', () => {
  test('has a title and a fix for each code', () => {
    for (const { facts } of ROWS) {
      expect(facts.title).toMatch(/^\S.*\S$/)
      expect(facts.fix).toMatch(/^[A-Z].*\.$/)
    }
  })

  test('asks people to report defects of this program, and nothing else', () => {
    const defects = ROWS.filter(({ facts }) => facts.title === 'unexpected' || /please report it/i.test(facts.fix))

    expect(defects.map(({ code }) => code)).toEqual(['accounting'])
  })

  test('only errors of the service concern one window, or allow the same request again', () => {
    const ours = ROWS.filter(({ facts }) => !['answer', 'outage'].includes(facts.from))

    expect(ours.filter(({ facts }) => facts.window !== undefined || facts.askAgain !== 'never')).toEqual([])
  })

  test('gives an unknown code the facts of a defect', () => {
    for (const code of ['made-up', '', 'constructor', '__proto__', 'unexpected']) {
      expect(isErrorCode(code)).toBe(false)
      expect(factsOfCode(code)).toMatchObject({ again: 'retry', exitCode: 1, resumable: false, title: 'unexpected' })
    }
    // The codes of other programs are not ours, even where they are the same word.
    expect(factsOf(Object.assign(new Error('made up'), { code: 'network' }))).toBe(factsOfCode('unexpected'))
  })
})

describe('classes and table agree', () => {
  test('every class is made for a code', () => {
    const classes = Object.entries(errors).flatMap(([name, value]) => (isErrorClass(value) ? [name] : []))

    expect(new Set(Object.values(MADE).map(({ name }) => name))).toEqual(new Set(classes))
  })

  test.each(ROWS)('all decisions about $code follow its row, also where it comes from a report', ({ code, facts }) => {
    const error = MADE[code]
    const reported = reportedError({ code, message: 'made up' })

    expect(errors.describeError(reported)).toEqual({ code, message: 'made up' })
    for (const each of [error, reported]) {
      expect(errors.isOurs(each)).toBe(true)
      expect(factsOf(each)).toBe(facts)
      expect(exitCodeOf(each)).toBe(facts.exitCode)
    }
    expect(windowFailureOf(error)).toBe(facts.window)
    if (facts.from === 'stop' || facts.from === 'other-version') return
    expect(verdictOf(error, CIRCUMSTANCES).kind).toBe(facts.again === 'never' ? 'give-up' : facts.again)
  })

  test('only a 500 concerns the window that was asked for, and no other failure of the service does', () => {
    const failed = (status: number) => new errors.SourceUnavailable('made up', { code: 'server-error', status })

    expect([500, 502, 503, 504].map((status) => windowFailureOf(failed(status)))).toEqual(['hole', ...Array(3)])
    for (const thrown of [undefined, null, 'a text', { code: 'not-utf8', status: 500 }, new TypeError('made up')])
      expect(windowFailureOf(thrown)).toBeUndefined()
  })
})

test('every error that one file throws for another has a class of errors.ts', () => {
  const others = PRODUCT.filter(({ path }) => path !== 'src/errors/errors.ts').flatMap(({ code }) =>
    [...code.matchAll(/\bclass (\w+) extends \w*Error\b/g)].map(([, name]) => name),
  )

  // The wishes of a queue, a timer, a transaction and a mirror without customers to serve: they become an error of the table, an answer or none.
  expect(new Set(others)).toEqual(new Set(['NotMirrored', 'RunFailed', 'TimedOut', 'UnreadableValue']))
})

function isErrorClass(exported: unknown): boolean {
  return typeof exported === 'function' && exported.prototype instanceof Error
}

function each<Code extends string>(codes: readonly Code[], make: (code: Code) => Error): Record<Code, Error>
function each(codes: readonly string[], make: (code: string) => Error): Record<string, Error> {
  return Object.fromEntries(codes.map((code) => [code, make(code)]))
}

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
