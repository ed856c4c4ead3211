import { html } from 'hono/html'
import { expect, test } from 'vitest'
import { EXACT_VERSION } from '../../src/machine/version.ts'
import { framed } from '../../src/status/frame.ts'
import { overviewPage } from '../../src/status/overview-page.ts'
import { readPart } from '../../src/status/overview.ts'
import { ago } from '../../src/status/sentences.ts'
import { progressOf } from '../../src/status/standing.ts'
import { night } from '../store/nights.ts'
import { customers } from '../support/builders.ts'
import { cardsOf, LOOKED_AT_MS, factsOf, overviewOf, overviewOfAll, REFUSED } from '../support/full-mirror.ts'
import { aMirror, mirrorPages } from '../support/mirror-file.ts'

const RUN = { organization: 'acme', runId: 7, startedAtMs: 0, isPartial: false, readBefore: 0, read: 0, total: 100 }

test('organizations that need attention come first, each card says what there is to do, and the page has no customer, no script and nothing to load', async () => {
  const overview = await overviewOfAll()
  const page = await overviewPage(overview)
  const said = cardsOf(page)

  expect(overview.organizations.map(({ organization, standing }) => [organization, ...standing.states])).toEqual([
    ['failing', 'failing', 'late'],
    ...['held', 'late', 'never', 'running', 'unproven', 'waiting', 'fresh'].map((state) => [state, state]),
  ])
  expect(overview.totals).toEqual([4, 3, 1])
  expect(said.get('failing')).toMatch(/last 3 runs failed, the first 2 d ago: .*\(unauthorized\)/)
  expect(said.get('held')).toMatch(/held back 33 removals\..* customer-mirror removals show held/)
  expect(said.get('running')).toMatch(/36 % Run #\d+ has read 17 of 46 customers, about 1 min 42 s left\./)
  expect(said.get('unproven')).toContain('(hole)')
  expect(said.get('fresh')).toContain('Next run in 23 h 40 min (2026-01-15 02:00 GMT)')
  expect(page).toContain(` by Customer Mirror ${EXACT_VERSION}.`)
  expect(page).not.toMatch(/private\.example\.com|Jane|@example|[0-9a-f]{8}-[0-9a-f]{4}-/)
  expect(page).not.toMatch(/<script|javascript:|\bon[a-z]+=|https?:\/\/|url\(|@import/)
})

test('texts from outside are escaped', async () => {
  const overview = await overviewOfAll()
  const hostile = `"><script>alert('1')</script>&`
  const organizations = overview.organizations.map((view) => ({ ...view, organization: hostile }))
  const leftBehind = [Object({ organization: hostile, active: 3 })]

  const served = { find: hostile, page: 1, pages: 3, found: 1 }
  const page = await overviewPage({ ...overview, organizations, leftBehind }, served)

  expect(page).not.toContain('<script')
  expect(page).not.toContain(`'1'`)
  expect(page).toContain('&lt;script&gt;')
})

test('a thousand organizations are shown a few at a time, and found by a part of their id', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 3), { organization: 'org-0999' })
  const ids = Array.from({ length: 1000 }, (_, n) => `org-${String(n).padStart(4, '0')}`)
  const part = (asked: { find: string; page: number }) => readPart(mirror, factsOf(ids), asked)

  const { overview, served } = await part({ find: '', page: 2 })
  expect(overview.organizations).toHaveLength(50)
  expect(served).toEqual({ find: '', page: 2, pages: 20, found: 1000 })
  expect((await part({ find: '', page: 99 })).served.page).toBe(20)
  expect((await part({ find: '', page: Number.NaN })).served.page).toBe(1)
  const found = await part({ find: '0999', page: 1 })
  expect(found.overview.organizations.map(({ organization }) => organization)).toEqual(['org-0999'])
  expect(await overviewPage(overview, served)).toContain('1,000 of 1,000 organizations need attention.')
})

test.each([
  ['before its first page', {}, 0, undefined],
  ['half way', { read: 50 }, 50, 10_000],
  ['continuing another', { readBefore: 50, read: 25 }, 75, 10_000],
  ['reading its list again', { read: 180 }, 99, undefined],
  ['of a list whose length is not known', { read: 50, total: undefined }, undefined, undefined],
  ['that looks for changes', { read: 50, isPartial: true }, undefined, undefined],
])('how far a run is, %s', (_what, run, percent, leftMs) => {
  expect(progressOf({ ...RUN, ...run }, 10_000)).toMatchObject({ percent, leftMs })
})

test('a clock that was set back gives no time left, and no age below zero', () => {
  expect(progressOf({ ...RUN, startedAtMs: 20_000, read: 50 }, 10_000).leftMs).toBeUndefined()
  expect(ago(20_000, 10_000)).toBe('0 ms ago')
})

test('a date that a wrong clock wrote, weeks ahead, is not called fresh', async () => {
  const mirror = await aMirror()
  await night(mirror, 40, customers(1, 3), { organization: 'fresh' })

  expect(await overviewPage(await overviewOf(mirror, ['fresh']))).toMatch(
    /Read at 2026-\S+ \S+ UTC, which lies in the future \(check the clock, then sync again\)/,
  )
})

test('a run that a person cancelled is shown as stopped, not as a failure, and one whose process is gone not as running', async () => {
  const mirror = await aMirror()
  const ending = { ...REFUSED, error: { code: 'cancelled', message: 'made up' } }
  const atMs = LOOKED_AT_MS - 3_600_000
  await mirrorPages(mirror, [], { organization: 'cancelled', atMs, ending })
  await mirror.startRun({ organization: 'gone', trigger: 'sync', nowMs: atMs })

  const overview = await overviewOf(mirror, ['cancelled', 'gone'])

  const stopped = { states: ['stopped'], failures: { inARow: 0 } }
  expect(overview.organizations.map(({ standing }) => standing)).toMatchObject([stopped, stopped])
  expect(await overviewPage(overview)).toContain('Run #1 was cancelled by a person. The next run continues it.')
})

test('a text from outside neither turns what stands around it on a page, nor hides it, nor is markup', async () => {
  const page = await framed({ title: 'a\u202Eb' }, html`<p>${'<b>\u200B\u001B[31m\u2066'}</p>`)

  expect(page).toContain(String.raw`<title>a\u202eb</title>`)
  expect(page).toContain(String.raw`&lt;b&gt;\u200b\u001b[31m\u2066`)
})
