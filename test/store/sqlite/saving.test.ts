import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Opening } from '../../../src/model/mirror.ts'
import { openMirror, type Mirror } from '../../../src/store/mirror.ts'
import { mirrorIn } from '../../../src/store/open-sqlite.ts'
import { aCustomer, anEnding, aPage, customers, MINUTE_MS, START_MS } from '../../support/builders.ts'
import { aSqliteMirror } from '../../support/full-mirror.ts'
import { aMirror, mirrorPages, rowsOf, tamper, valueOf } from '../../support/mirror-file.ts'

const hasIndex = ({ file }: Mirror) =>
  valueOf(file, `SELECT 1 FROM sqlite_schema WHERE name = 'customers_by_id' AND sql LIKE 'CREATE UNIQUE%'`) === 1

const aRun = (mirror: Mirror, organization = 'acme') =>
  mirror.startRun({ organization, trigger: 'sync', nowMs: START_MS })

/** Pages with overlaps, and a record that comes once more, and once with another name, in the same save and in a later one. */
const SAVES = [
  [aPage(1, [...customers(1, 30), aCustomer(7)]), aPage(2, [...customers(21, 50), aCustomer(8, { name: 'Ada' })])],
  [aPage(3, [...customers(41, 73), aCustomer(9, { name: 'Ada' }), aCustomer(3)])],
]

async function saveAll(mirror: Mirror, print?: number) {
  const run = await aRun(mirror)
  if (print !== undefined) vi.spyOn(run.fingerprint, 'id').mockReturnValue(print)
  for (const pages of SAVES) await mirror.savePages(run, pages, START_MS)
  return run
}

test.each([
  ['as they are', undefined],
  ['where all ids have the same fingerprint', 7],
])('the first organization is read without the index of ids, and stored as with it: %s', async (_, print) => {
  const [without, beside] = [await aMirror(), await aMirror()]
  await mirrorPages(beside, [customers(900, 900)], { organization: 'globex' })
  const runs = [await saveAll(without, print), await saveAll(beside)] as const
  const whileReading = hasIndex(without)
  const reports = [
    await without.finishRun(runs[0], anEnding(), START_MS),
    await beside.finishRun(runs[1], anEnding(), START_MS),
  ].map(({ inserted, duplicates, unchanged, warnings }) => ({ inserted, duplicates, unchanged, warnings }))
  const stored = `SELECT id, name, email, created_at_utc, first_seen_at FROM customers WHERE organization = 'acme' ORDER BY row_id`

  expect(rowsOf(without.file, stored)).toEqual(rowsOf(beside.file, stored))
  expect(reports[0]).toEqual(reports[1])
  expect(reports[0]).toMatchObject({ inserted: 73, duplicates: 24 })
  expect([whileReading, hasIndex(without)]).toEqual([false, true])
})

test('a customer that was added by hand a second time is named with how to find it', async () => {
  const mirror = await aMirror()
  const run = await saveAll(mirror)
  tamper(
    mirror.file,
    `INSERT INTO customers (organization, id, first_seen_at, changed_at, last_run_id, updated_at)
     SELECT organization, id, first_seen_at, changed_at, last_run_id, updated_at FROM customers LIMIT 1`,
  )

  await expect(mirror.finishRun(run, anEnding(), START_MS)).rejects.toMatchObject({
    code: 'damaged',
    message: expect.stringMatching(/: has two rows of one customer, .* HAVING COUNT\(\*\) > 1\. Delete what was added/),
  })
})

test('a run takes as many statements as another, however many customers and pages it reads', async () => {
  const counts = []
  for (const [few, pages] of [
    [50, 1],
    [400, 9],
  ] as const) {
    const { mirror, statementsOf } = await aCountedMirror()
    const night = async (number: number) => {
      const nowMs = START_MS + number * MINUTE_MS
      const [run, started] = await statementsOf(() => mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs }))
      const read = Array.from({ length: pages }, (_, at) => aPage(at + 1, customers(at * few + 1, (at + 1) * few)))
      const [, saved] = await statementsOf(() => mirror.savePages(run, read, nowMs))
      const ending = anEnding({ proof: 'proven', reasons: [], removals })
      const [report, ended] = await statementsOf(() => mirror.finishRun(run, ending, nowMs))
      return { started, saved, ended, inserted: report.inserted }
    }
    const [first, { inserted, ...atRest }] = [await night(0), await night(1)]
    expect([first.inserted, inserted]).toEqual([few * pages, 0])
    // Some customers a statement while there is no index of ids.
    expect(first.saved).toBeLessThan(20 + first.inserted / 10)
    counts.push(atRest)
  }

  const expected = { started: 23, saved: 10, ended: 13 }
  expect(counts).toEqual([expected, expected])
})

const removals = { rule: { after: 1, maxShare: 1 }, confirmed: new Set<string>() }

async function aCountedMirror() {
  const made = await aSqliteMirror()
  let count = 0
  const db = new Database(made.file, { verbose: () => (count += 1) })
  onTestFinished(() => void db.close())
  return {
    mirror: mirrorIn(db, made.file),
    statementsOf: async <Result>(work: () => Promise<Result>): Promise<[Result, number]> => {
      count = 0
      const result = await work()
      return [result, count]
    },
  }
}

test('no save waits for the disk', async () => {
  const mirror = await aMirror()
  const run = await aRun(mirror)
  const pragma = vi.spyOn(Database.prototype, 'pragma')
  onTestFinished(() => pragma.mockRestore())

  await mirror.savePages(run, [aPage(1, customers(1, 5))], START_MS)
  expect(pragma.mock.calls.filter(([text]) => text.startsWith('synchronous'))).toEqual([])
})

async function besideAProgram(opening: Opening) {
  const { file } = await aMirror()
  const mirror = await openMirror(file, opening)
  const program = new Database(file)
  onTestFinished(() => {
    program.close()
    return mirror.close()
  })
  return { file, mirror, program }
}

test('a person may end what waits for a mirror that another program has locked: it is heard', async () => {
  const stop = new AbortController()
  const { file, mirror, program } = await besideAProgram({ signal: stop.signal })
  program.exec('BEGIN IMMEDIATE')
  const waiting = [aRun(mirror), openMirror(file, { signal: stop.signal })]
  // A timer, as a signal, is heard by an event loop that is not blocked.
  setTimeout(() => stop.abort(), 1)

  const ends = waiting.map((each) => each.catch((error: unknown) => ({ error, wasHeard: stop.signal.aborted })))
  const ended = { error: { code: 'busy' }, wasHeard: true }
  expect(await Promise.all(ends)).toMatchObject([ended, ended])
})

test('while another program writes, the runs of a worker wait and say so, and its event loop goes on', async () => {
  const { file, mirror, program } = await besideAProgram({ waitsOnceStopped: true })
  const underWay = await aRun(mirror)
  program.exec('BEGIN IMMEDIATE')
  const onWaiting = vi.fn<() => void>()
  let ended = 0

  const verbs = [
    aRun(mirror, 'globex'),
    mirror.renewLease(underWay, START_MS),
    mirror.savePages(underWay, [aPage(1, customers(1, 5))], START_MS, onWaiting),
  ]
  for (const verb of verbs) void verb.then(() => (ended += 1))
  await sleep(10)

  expect([ended, onWaiting.mock.calls.length > 0]).toEqual([0, true])
  program.exec('COMMIT')
  await Promise.all(verbs)
  expect(rowsOf(file, 'SELECT COUNT(*) AS customers FROM customers')).toEqual([{ customers: 5 }])
})

test('a worker that is stopped still waits for another program, to record how its runs ended', async () => {
  const stop = new AbortController()
  const { file, mirror, program } = await besideAProgram({ signal: stop.signal, waitsOnceStopped: true })
  const run = await aRun(mirror)
  program.exec('BEGIN IMMEDIATE')
  setTimeout(() => program.exec('COMMIT'), 60)

  stop.abort()
  await mirror.finishRun(run, anEnding({ status: 'interrupted', readToEnd: false }), START_MS)

  expect(rowsOf(file, 'SELECT status FROM runs')).toEqual([{ status: 'interrupted' }])
})
