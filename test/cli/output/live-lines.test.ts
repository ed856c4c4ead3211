import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { liveLines } from '../../../src/cli/output/live-lines.ts'
import { SourceRefused } from '../../../src/errors/errors.ts'
import { emptyReport } from '../../../src/model/report.ts'
import { START_MS } from '../../support/builders.ts'
import { FakeScreen } from '../../support/run-command.ts'

const error = new SourceRefused('answered 403', { code: 'forbidden', status: 403 })
const reportOf = (organization: string) => emptyReport({ organization, trigger: 'sync', startedAtMs: START_MS })
const failed = (id: string) => ({ report: { ...reportOf(id), error: { code: error.code, message: '' } }, error })

test('an active organization shows its progress and why it waits; a line of each that ended stays', async () => {
  const screen = new FakeScreen({ columns: 120 })
  const stop = new AbortController()
  const reporter = await liveLines(['acme', 'globex', 'initech'], screen, stop.signal)
  const [acme, globex] = [reporter?.began('acme'), reporter?.began('globex')]

  globex?.ended(failed('globex'))
  expect(screen.text).toBe('✖ globex  plan forbids\nacme  asking for the first page\n… 1 more')
  acme?.onProgress({ organization: 'acme', customers: 1200, readBefore: 100, total: 2500, pages: 12 })
  await expect.poll(() => screen.text).toContain('acme  1,300 of 2,500 customers')
  acme?.onEvent({ kind: 'waiting', reason: 'rate-limited', waitMs: 45_000, untilMs: START_MS })
  stop.abort()
  expect(screen.text).toMatch(/acme {2}asked to slow down; continues in 45 s\n… stopping: saving what has arrived/)
  acme?.ended({ report: { ...reportOf('acme'), received: 2500 }, error: undefined })
  reporter?.close()

  expect(screen.text).toMatch(/^✖ globex {2}plan forbids\n✔ acme {2}2,500 customers · 0 requests.*$/)
})

test('sixty organizations on few rows leave a line each, and none of the live ones', async () => {
  const ids = Array.from({ length: 60 }, (_, index) => `organization-${index + 1}`)
  const screen = new FakeScreen({ columns: 40, rows: 4 })
  const reporter = await liveLines(ids, screen, new AbortController().signal)
  const runs = ids.map((id) => ({ id, run: reporter?.began(id) }))
  for (const { id, run } of runs) run?.ended(failed(id))
  reporter?.close()

  expect(screen.broken).toEqual([])
  expect(screen.text.split('\n')).toEqual(ids.map((id) => `✖ ${id}  plan forbids`))
})

test('without a terminal there are none', async () => {
  expect(await liveLines(['acme'], new PassThrough(), new AbortController().signal)).toBeUndefined()
})
