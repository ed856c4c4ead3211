import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { mirrorIn } from '../../../src/store/open-sqlite.ts'
import { anEnding, aPage, customerId, customers, MINUTE_MS, START_MS } from '../../support/builders.ts'
import { aSqliteMirror } from '../../support/full-mirror.ts'

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

test('an initial sync does not look for its customers among those of other organizations', async () => {
  const { mirror, statementsOf } = await aCountedMirror()
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  await mirror.savePages(run, [aPage(1, customers(1, 100))], START_MS)
  const ids = Array.from({ length: 100 }, (_, at) => customerId(101 + at))

  const [found, looked] = await statementsOf(() => mirror.findKnownElsewhere('acme', ids))

  expect(found.count).toBe(0)
  // A look whether there is an index of ids. Without it, every row would be read for each page.
  expect(looked).toBe(1)
})

const removals = {
  rule: { after: 2, maxShare: 1 },
  searches: undefined,
  confirmed: new Set<string>(),
  contradicted: new Set<string>(),
}

/** A mirror that counts the statements of the mirror on its connection. */
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
