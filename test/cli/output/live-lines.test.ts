import { expect, test } from 'vitest'
import { columnsOf } from '../../../src/cli/output/fit-text.ts'
import { liveFrame } from '../../../src/cli/output/live-lines.ts'
import { showProgress } from '../../../src/cli/output/progress.ts'
import type { Talk } from '../../../src/sync/run-organization.ts'
import type { Outcome } from '../../../src/sync/mirror-organization.ts'
import { Interrupted, SourceRefused } from '../../../src/errors/errors.ts'
import { emptyReport } from '../../../src/model/report.ts'
import { START_MS } from '../../support/builders.ts'
import { FakeScreen } from '../../support/screen.ts'

const NAMES = Array.from({ length: 60 }, (_, index) => ({ id: `organization-${index + 1}` }))

test.each([
  [80, 24],
  [40, 10],
  [20, 3],
  [200, 60],
])(
  'with sixty organizations on %d columns and %d rows, active ones are shown and the others counted',
  (columns, rows) => {
    const underWay = NAMES.slice(0, 8).map(({ id }) => ({
      id,
      words: ['1,200 of 2,500 customers · 48 %', '1,200/2,500'],
    }))
    const frame = liveFrame(underWay, { waiting: 49, done: 2, stopped: 0, failed: 1 }, { columns, rows })

    expect(frame.length).toBeLessThan(rows)
    expect(Math.max(...frame.map(columnsOf))).toBeLessThan(columns)
    expect(frame[0]).toMatch(/^organi.* 1,200/)
    const hidden = underWay.length - (frame.length - 1)
    const said = `… ${hidden > 0 ? `${hidden} more under way, ` : ''}49 not begun, 2 done, 1 failed`
    expect(said.startsWith((frame.at(-1) ?? '').replace(/(.)…$/, '$1'))).toBe(true)
  },
)

test('while all organizations are active, nothing is counted', () => {
  const none = { waiting: 0, done: 0, stopped: 0, failed: 0 }

  expect(liveFrame([{ id: 'acme', words: ['5'] }], none, { columns: 80 })).toEqual(['acme  5'])
})

test('an active organization shows its progress; its last line stays after its live line is gone', async () => {
  const screen = new FakeScreen()
  const seen: string[] = []
  const work = async ({ id }: { id: string }, talk: Talk) => {
    if (id === 'globex') return failed(id)
    talk.onProgress({ organization: id, customers: 1200, readBefore: 0, total: 2500, pages: 12 })
    await expect.poll(() => screen.text).toContain('1,200 of 2,500 customers · 48 %')
    talk.onEvent({ kind: 'waiting', reason: 'rate-limited', waitMs: 45_000, untilMs: START_MS })
    await expect.poll(() => screen.text).toMatch(/1,200\/2,500 · 48 %.* · asked to slow down; continues in 45 s/)
    // Pages that were asked for before the pause still arrive.
    talk.onProgress({ organization: id, customers: 1300, readBefore: 0, total: 2500, pages: 13 })
    await expect.poll(() => screen.text).toMatch(/1,300\/2,500 · 52 %.* · asked to slow down; continues in 45 s/)
    seen.push(screen.text)
    return {
      report: { ...emptyReport({ organization: id, trigger: 'sync', startedAtMs: START_MS }), received: 2500 },
      error: undefined,
    }
  }
  await showProgress([{ id: 'acme' }, { id: 'globex' }], screen, work)

  expect(seen[0]?.split('\n').map((line) => line.slice(0, 8))).toEqual(['✖ globex', 'acme  1,', '… 1 fail'])
  expect(screen.text.split('\n')).toEqual([
    '✖ globex  failed: forbidden',
    expect.stringMatching(/^✔ acme {4}2,500 customers · 0 requests/),
  ])
})

test('sixty organizations on a screen of ten rows leave sixty lines, and none of the live ones', async () => {
  const screen = new FakeScreen({ columns: 80, rows: 10 })
  let most = 0
  const work = async ({ id }: { id: string }, talk: Talk) => {
    talk.onProgress({ organization: id, customers: 1, readBefore: 0, total: 2, pages: 1 })
    await new Promise((resolve) => setImmediate(resolve))
    most = Math.max(most, screen.text.split('\n').filter((line) => /^organization|^…/.test(line)).length)
    return failed(id)
  }
  await showProgress(NAMES, screen, work)

  expect(most).toBeGreaterThan(0)
  expect(most).toBeLessThan(10)
  expect(screen.text.split('\n').map((line) => line.split(/\s+/)[1])).toHaveLength(60)
  expect(screen.text.split('\n').filter((line) => !/^✖ organization-\d+ +failed: forbidden$/.test(line))).toEqual([])
})

test('a stop is shown at once, while active organizations save the pages they received', async () => {
  const screen = new FakeScreen()
  const stop = new AbortController()
  const work = async ({ id }: { id: string }) => {
    stop.abort()
    expect(screen.text).toBe(
      'acme  asking for the first page\n… stopping: saving what has arrived (Ctrl-C again ends at once)',
    )
    return failed(id)
  }
  await showProgress([{ id: 'acme' }], screen, work, { stop: stop.signal })
  expect(screen.text).toBe('✖ acme  failed: forbidden')
})

test('an organization that was stopped is not counted as failed', async () => {
  const screen = new FakeScreen()
  const stop = new AbortController()
  const stopped = Promise.withResolvers<void>()
  const work = async ({ id }: { id: string }) => {
    stop.abort()
    if (id === 'acme') return interrupted(id)
    await stopped.promise
    return interrupted(id)
  }
  const shown = showProgress([{ id: 'acme' }, { id: 'globex' }], screen, work, { stop: stop.signal })
  await expect.poll(() => screen.text).toMatch(/… stopping: .*, 1 stopped$/)
  stopped.resolve()
  await shown

  expect(screen.text).not.toContain('failed')
})

test.each([
  [80, '… stopping (Ctrl-C again ends at once), 6 more under way, 1 stopped'],
  [60, '… stopping, 6 more under way, 1 stopped'],
  [100, '… stopping: saving what has arrived (Ctrl-C again ends at once), 6 more under way, 1 stopped'],
])('while it stops, the counts fit on %d columns', (columns, expected) => {
  const underWay = NAMES.slice(0, 8).map(({ id }) => ({ id, words: ['1,200'] }))
  const others = { waiting: 0, done: 0, stopped: 1, failed: 0, isStopping: true }

  expect(liveFrame(underWay, others, { columns, rows: 4 }).at(-1)).toBe(expected)
})

test('a name that is too long for its column gets its own line', async () => {
  const screen = new FakeScreen({ columns: 50 })
  const id = 'an-organization-with-a-name-that-goes-on'
  await showProgress([{ id }, { id: 'acme' }], screen, async (item) => failed(item.id))

  expect(screen.text.split('\n')).toEqual([
    `✖ ${id}`,
    `${' '.repeat(28)}failed: forbidden`,
    `✖ ${'acme'.padEnd(24)}  failed: forbidden`,
  ])
  expect(screen.broken).toEqual([])
})

function interrupted(id: string): Outcome {
  const error = new Interrupted('stopped as asked')
  const report = emptyReport({ organization: id, trigger: 'sync', startedAtMs: START_MS })
  return { report: { ...report, status: 'interrupted', error: { code: error.code, message: error.message } }, error }
}

function failed(id: string): Outcome {
  const error = new SourceRefused('answered 403', { code: 'forbidden', status: 403 })
  const report = emptyReport({ organization: id, trigger: 'sync', startedAtMs: START_MS })
  return { report: { ...report, error: { code: error.code, message: error.message } }, error }
}
