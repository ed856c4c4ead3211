import { describe, expect, test } from 'vitest'
import { verdictOf, type Circumstances } from '../../jobs/run/outcome.ts'
import { EXIT_CODES, exitCodeOf } from '../../src/cli/exit-code.ts'
import { explainFailure } from '../../src/cli/output/explain-failure.ts'
import { ERRORS, factsOfCode, isErrorCode, type ErrorCode, type ErrorFacts } from '../../src/errors/error-facts.ts'
import * as errors from '../../src/errors/errors.ts'
import { factsOf, reportedError } from '../../src/errors/errors.ts'
import { windowFailureOf } from '../../src/errors/window-failure.ts'
import { readProgram } from '../support/program.ts'

/** Each row of the table: the class, the code, and what follows. */
const ROWS = Object.entries<Record<string, ErrorFacts>>(ERRORS).flatMap(([kind, codes]) =>
  Object.entries(codes).flatMap(([code, facts]) => (isErrorCode(code) ? [{ kind, code, facts }] : [])),
)
const CODES = ROWS.map(({ code }) => code)

/** An error with every code, as the program makes them: the compiler asks for codes that are added later. */
const MADE: Record<ErrorCode, Error> = {
  config: new errors.ConfigError([{ file: 'customer-mirror.yaml', message: 'made up' }]),
  usage: new errors.UsageError('made up'),
  ...each(['unauthorized', 'forbidden', 'not-found', 'unprocessable'], (code) => {
    return new errors.SourceRefused('made up', { code, status: 400 })
  }),
  'rate-limited': new errors.RateLimited('made up', {}),
  ...each(['network', 'tls', 'timeout'], (code) => new errors.SourceUnavailable('made up', { code })),
  'server-error': new errors.SourceUnavailable('made up', { code: 'server-error', status: 500 }),
  ...each(['redirect', 'not-json', 'not-utf8', 'too-large', 'bad-encoding', 'envelope'], breach),
  ...each(
    ['page-mismatch', 'size-mismatch', 'repeated-page', 'status', 'cached-answer', 'tenant-mixup', 'page-cap'],
    breach,
  ),
  'mirror-directory': new errors.MirrorUnusable('made up', { code: 'directory' }),
  'mirror-unreadable': new errors.MirrorUnusable('made up', { code: 'unreadable' }),
  'mirror-read-only': new errors.MirrorUnusable('made up', { code: 'read-only' }),
  'mirror-version': new errors.MirrorUnusable('made up', { code: 'version' }),
  'mirror-corrupt': new errors.MirrorUnusable('made up', { code: 'corrupt' }),
  'mirror-foreign': new errors.MirrorUnusable('made up', { code: 'foreign' }),
  'mirror-missing': new errors.MirrorUnusable('made up', { code: 'missing' }),
  'mirror-full': new errors.MirrorUnusable('made up', { code: 'full' }),
  'mirror-locked': new errors.MirrorUnusable('made up', { code: 'locked' }),
  'mirror-unreachable': new errors.MirrorUnusable('made up', { code: 'unreachable' }),
  'mirror-replaced': new errors.MirrorUnusable('made up', { code: 'replaced' }),
  ...each(['held', 'lease-lost'], (code) => new errors.OrganizationLeased('made up', { code })),
  queue: new errors.QueueUnavailable('made up'),
  ...each(
    ['copy-full', 'copy-busy', 'copy-unwritable', 'copy-unhidden', 'copy-unreachable', 'copy-unfinished'],
    (code) => {
      return new errors.CopyFailed('made up', { code })
    },
  ),
  ...each(['export-full', 'export-unwritable', 'export-unfinished', 'export-busy'], (code) => {
    return new errors.ExportFailed('made up', { code })
  }),
  ...each(['backup-full', 'backup-busy', 'backup-unwritable', 'backup-unfinished'], (code) => {
    return new errors.BackupFailed('made up', { code })
  }),
  accounting: new errors.AccountingBroken('made up'),
  interrupted: new errors.Interrupted('made up'),
  cancelled: new errors.Cancelled('made up'),
  'max-run': new errors.MaxRunReached('made up'),
  'window-closed': new errors.WindowClosed('made up'),
  paused: new errors.OrganizationPaused('made up'),
}

const CIRCUMSTANCES: Circumstances = {
  ...{ waitedMs: 0, maxWaitMs: 3_600_000, startsLeft: 9, leasedWaitMs: 30_000, mirrorWaitMs: 20_000 },
  ...{ stopping: false, lockLost: false },
}

const ORIGINS = 'answer outage mirror other-version queue other-run stop cancel limit configuration ours'.split(' ')

const PRODUCT = readProgram().filter(({ path }) => /^(src|jobs)\//.test(path))

describe('the table of errors', () => {
  test('has each code once', () => {
    expect(CODES.length).toBeGreaterThan(35)
    expect([...new Set(CODES)]).toEqual(CODES)
  })

  test.each(ROWS)('says everything about $code', ({ facts }) => {
    expect(['wait', 'retry', 'never']).toContain(facts.again)
    expect(['wait', 'retry', 'never']).toContain(facts.askAgain)
    expect(Object.keys(EXIT_CODES)).toContain(String(facts.exitCode))
    expect(typeof facts.resumable).toBe('boolean')
    expect(Object.keys(facts)).toContain('window')
    expect(ORIGINS).toContain(facts.from)
    expect(facts.title).toMatch(/^\S.*\S$/)
    expect(facts.fix).toMatch(/^[A-Z].*\.$/)
  })

  test('asks people to report defects of this program, and nothing else', () => {
    const defects = ROWS.filter(({ facts }) => facts.title === 'unexpected' || /please report it/i.test(facts.fix))

    expect(defects.map(({ code }) => code)).toEqual(['accounting'])
  })

  test('only errors of the service concern one window, or allow the same request again', () => {
    const ours = ROWS.filter(({ facts }) => !['answer', 'outage'].includes(facts.from))

    expect(ours.filter(({ facts }) => facts.window !== undefined || facts.askAgain !== 'never')).toEqual([])
  })

  test('every error ends a command with a code that says so, and every code up to 7 is that of an error', () => {
    expect(new Set(ROWS.map(({ facts }) => facts.exitCode))).toEqual(new Set([1, 2, 3, 4, 5, 6, 7]))
  })

  test('gives an unknown code the facts of a defect', () => {
    for (const code of ['made-up', '', 'constructor', '__proto__', 'unexpected']) {
      expect(isErrorCode(code)).toBe(false)
      expect(factsOfCode(code)).toMatchObject({ again: 'retry', exitCode: 1, resumable: false, title: 'unexpected' })
    }
    // The codes of other programs are not ours, even where they are the same word.
    expect(factsOf(Object.assign(new Error('made up'), { code: 'timeout' }))).toBe(factsOfCode('unexpected'))
  })
})

describe('classes and table agree', () => {
  test('every class has its rows, and every row its class', () => {
    const classes = Object.entries(errors).flatMap(([name, value]) => (isErrorClass(value) ? [name] : []))

    expect(new Set(classes)).toEqual(new Set(Object.keys(ERRORS)))
  })

  test.each(ROWS)('$kind has the code $code, and all decisions follow its row', ({ kind, code, facts }) => {
    const error = MADE[code]

    expect(error).toMatchObject({ name: kind, code })
    expect(errors.isOurs(error)).toBe(true)
    expect(factsOf(error)).toBe(facts)
    expect(exitCodeOf(error)).toBe(facts.exitCode)
    expect(windowFailureOf(error)).toBe(facts.window)
    expect(explainFailure(error)).toEqual({ title: facts.title, fix: facts.fix })
    if (facts.from === 'stop' || facts.from === 'other-version') return
    expect(verdictOf(error, CIRCUMSTANCES).kind).toBe(facts.again === 'never' ? 'give-up' : facts.again)
  })

  test.each(CODES)('%s from a report has the same facts as the error itself', (code) => {
    const error = reportedError({ code, message: 'made up' })

    expect(error.message).toBe('made up')
    expect(errors.describeError(error)).toEqual({ code, message: 'made up' })
    expect(factsOf(error)).toBe(factsOfCode(code))
    expect(explainFailure(error)).toMatchObject({ fix: factsOfCode(code).fix })
  })
})

describe('the program and the table', () => {
  test('every error that one file throws for another has a class of errors.ts', () => {
    const others = PRODUCT.filter(({ path }) => path !== 'src/errors/errors.ts').flatMap(({ code }) =>
      [...code.matchAll(/\bclass (\w+) extends \w*Error\b/g)].map(([, name]) => name),
    )

    // The wishes of a queue, a command line, a timer, a transaction, an older mirror, an output that is closed and a file that is in its
    // place: they become an error of the table or none.
    expect(new Set(others)).toEqual(
      new Set([
        'CommandLineEnded',
        'LeftUndone',
        'RunFailed',
        'TimedOut',
        'Unread',
        'ValueUnwritable',
        'WrittenMeanwhile',
      ]),
    )
  })

  test('every code is thrown somewhere', () => {
    const throwing = PRODUCT.filter(({ path, imports }) => {
      return !path.startsWith('src/errors/error') && imports.some(({ target }) => target === 'src/errors/errors.ts')
    })
    const isThrown = ({ kind, code }: { kind: string; code: string }) => {
      const isOnly = ROWS.filter((row) => row.kind === kind).length === 1
      const said = isOnly ? `new ${kind}(` : `'${code.replace(/^mirror-/, '')}'`
      return throwing.some((file) => file.code.includes(said))
    }

    expect(throwing.length).toBeGreaterThan(20)
    expect(ROWS.filter((row) => !isThrown(row)).map(({ code }) => code)).toEqual([])
  })

  test('classes and codes are checked only where the data of an error is read', () => {
    const code = `'(${CODES.join('|')})'`
    const asks = new RegExp(String.raw`instanceof (${Object.keys(ERRORS).join('|')})\b|\bcode [!=]== ${code}`)

    expect(PRODUCT.filter((file) => !READERS.has(file.path) && asks.test(file.code)).map(({ path }) => path)).toEqual(
      [],
    )
  })

  test('no other file lists codes', () => {
    const list = new RegExp(String.raw`'(${CODES.join('|')})'(: \w+)?,\s*'(${CODES.join('|')})'(?!:)`)
    // The failures of windows, which stand before a colon, and the reasons of a scan have some names in common with codes.
    const files = PRODUCT.filter(({ path }) => !/^src\/(scan\/|errors\/error-facts\.ts)/.test(path))

    expect(files.filter((file) => list.test(file.code)).map(({ path }) => path)).toEqual([])
  })
})

/** Each reads a status, a wait, a clock or a sentence of an error, lets one of ours pass, counts a kind of answer, or says what stands of it. */
const READERS: ReadonlySet<string> = new Set([
  'src/errors/errors.ts',
  'src/errors/window-failure.ts',
  'src/cli/reading/list-tables.ts',
  'src/cli/check/unused-proxy.ts',
  'src/mirror/errors/if-there.ts',
  'src/mirror/errors/rows-gone.ts',
  'src/mirror/postgres/reading/damage.ts',
  'src/mirror/postgres/forget/erase.ts',
  'src/mirror/postgres/reading/reading-indexes.ts',
  'src/mirror/postgres/vacuum.ts',
  'src/mirror/sqlite/sqlite-mirror.ts',
  'src/reading/backup/open-backup.ts',
  'src/cli/output/explain-failure.ts',
  'src/cli/output/failure-blocks.ts',
  'src/cli/output/published-text.ts',
  'src/source/signed-requests.ts',
  'src/source/pace/retry.ts',
  'src/source/refusal.ts',
  'src/source/connection/request.ts',
  'jobs/queue/postgres/embedded.ts',
])

function isErrorClass(exported: unknown): boolean {
  return typeof exported === 'function' && exported.prototype instanceof Error
}

function breach(code: errors.ContractCode): Error {
  return new errors.ContractBroken('made up', { code })
}

function each<Code extends string>(codes: readonly Code[], make: (code: Code) => Error): Record<Code, Error>
function each(codes: readonly string[], make: (code: string) => Error): Record<string, Error> {
  return Object.fromEntries(codes.map((code) => [code, make(code)]))
}
