import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { STANDING } from '../../../src/cli/io.ts'
import { showProgress } from '../../../src/cli/output/progress.ts'
import type { Talk } from '../../../src/sync/run-organization.ts'
import type { Outcome } from '../../../src/sync/mirror-organization.ts'
import { Interrupted, SourceRefused } from '../../../src/errors/errors.ts'
import { emptyReport } from '../../../src/model/report.ts'
import { START_MS } from '../../support/builders.ts'
import { FakeScreen } from '../../support/screen.ts'

test('an active organization shows its progress and why it waits; its last line stays after its live line is gone', async () => {
  const screen = new FakeScreen({ columns: 120 })
  const seen: string[] = []
  const work = async ({ id }: { id: string }, talk: Talk) => {
    if (id === 'globex') return failed(id)
    talk.onProgress({ organization: id, customers: 1200, readBefore: 0, total: 2500, pages: 12 })
    await expect.poll(() => screen.text).toContain('1,200 of 2,500 customers · 48 %')
    talk.onEvent({ kind: 'waiting', reason: 'rate-limited', waitMs: 45_000, untilMs: START_MS })
    // Pages that were asked for before the pause still arrive.
    talk.onProgress({ organization: id, customers: 1300, readBefore: 0, total: 2500, pages: 13 })
    await expect.poll(() => screen.text).toContain('1,300 of 2,500 customers · asked to slow down; continues in 45 s')
    seen.push(screen.text)
    return {
      report: { ...emptyReport({ organization: id, trigger: 'sync', startedAtMs: START_MS }), received: 2500 },
      error: undefined,
    }
  }
  await showProgress([{ id: 'acme' }, { id: 'globex' }], screen, work)

  expect(seen[0]?.split('\n').map((line) => line.slice(0, 8))).toEqual(['✖ globex', 'acme    ', '… 1 fail'])
  expect(screen.text.split('\n')).toEqual([
    '✖ globex  failed: forbidden',
    expect.stringMatching(/^✔ acme {4}2,500 customers · 0 requests/),
  ])
})

test.each([
  [80, 10],
  [20, 4],
])(
  'sixty organizations on %d columns and %d rows leave a line each, and none of the live ones',
  async (columns, rows) => {
    const names = Array.from({ length: 60 }, (_, index) => ({ id: `organization-${index + 1}` }))
    const screen = new FakeScreen({ columns, rows })
    let most = 0
    const work = async ({ id }: { id: string }, talk: Talk) => {
      talk.onProgress({ organization: id, customers: 1, readBefore: 0, total: 2, pages: 1 })
      await new Promise((resolve) => setImmediate(resolve))
      most = Math.max(most, screen.text.split('\n').filter((line) => /^organi|^…/.test(line)).length)
      return failed(id)
    }
    await showProgress(names, screen, work)

    expect(most).toBeGreaterThan(0)
    expect(most).toBeLessThan(rows)
    expect(screen.broken).toEqual([])
    expect(screen.text.split('\n').filter((line) => /^✖ organization-\d+/.test(line))).toHaveLength(60)
    expect(screen.text.match(/failed:\s+forbidden/g)).toHaveLength(60)
    expect(screen.text).not.toMatch(/^organi|^…/m)
  },
)

test('a stop is shown at once, while active organizations save the pages they received, and is no failure', async () => {
  const screen = new FakeScreen()
  const stop = new AbortController()
  const work = async ({ id }: { id: string }) => {
    stop.abort()
    expect(screen.text).toBe(
      'acme  asking for the first page\n… stopping: saving what has arrived (Ctrl-C again ends at once)',
    )
    return interrupted(id)
  }
  await showProgress([{ id: 'acme' }], screen, work, { stop: stop.signal })
  expect(screen.text).toMatch(/^■ acme {2}stopped: /)
})

test('lines that are still drawn when the process ends can be erased, and printed ones stay', async () => {
  const screen = new FakeScreen()
  const work = async ({ id }: { id: string }) => {
    if (id === 'globex') return failed(id)
    await new Promise((resolve) => setImmediate(resolve))
    for (const erase of STANDING) erase()
    expect(screen.text).toBe('✖ globex  failed: forbidden')
    return failed(id)
  }
  await showProgress([{ id: 'acme' }, { id: 'globex' }], screen, work)
  expect(STANDING.size).toBe(0)
})

test('without a terminal nothing is written, and an unexpected error ends the command after the other organizations', async () => {
  const stderr = new PassThrough()
  const done: string[] = []
  const work = async ({ id }: { id: string }) => {
    if (id === 'acme') throw new TypeError('a defect')
    done.push(id)
    throw new Error('another')
  }
  await expect(showProgress([{ id: 'acme' }, { id: 'globex' }], stderr, work)).rejects.toThrow('a defect')

  expect(done).toEqual(['globex'])
  expect(stderr.read()).toBeNull()
})

test.each([
  ['some', { customers: 1200, total: 2500 }, '1,200 of 2,500 customers · 48 %'],
  ['a list of unknown length', { customers: 1200, total: undefined }, '1,200 customers'],
  ['resumed', { customers: 1200, readBefore: 800 }, '2,000 of 2,500 customers (800 read before) · 80 %'],
  ['nearly all', { customers: 2499 }, '2,499 of 2,500 customers · 99 %'],
  ['read again', { customers: 2600 }, '2,600 of 2,500 customers · 100 %'],
])('progress in words: %s', async (_, changes, words) => {
  const screen = new FakeScreen()
  const work = async ({ id }: { id: string }, talk: Talk) => {
    talk.onProgress({ organization: id, readBefore: 0, total: 2500, pages: 12, ...changes })
    await expect.poll(() => screen.text).toContain(words)
    return failed(id)
  }
  await showProgress([{ id: 'acme' }], screen, work)
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
