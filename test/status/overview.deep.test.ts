import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import axe from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createPages, serveHttp } from '../../jobs/monitoring/endpoints.ts'
import { overviewFacts } from '../../jobs/monitoring/metrics.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { overviewPage } from '../../src/status/overview-page.ts'
import { readFigures } from '../../src/report/figures.ts'
import { reportPage } from '../../src/report/page.ts'
import { cardsOf, IN_STATES, LOOKED_AT_MS, mirrorAllStates, overviewOf, overviewOfAll } from '../support/full-mirror.ts'
import { aPlayedMirror, valueOf } from '../support/mirror-file.ts'
import { aWorkplace, organizationAt } from '../support/workplace.ts'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']
/** A telephone and a desk. */
const WIDTHS = [390, 1280] as const

const FOLDERS = (process.env['PATH'] ?? '').split(delimiter)
const program = FOLDERS.flatMap((folder) => NAMES.map((name) => join(folder, name))).find((path) => existsSync(path))
if (program === undefined)
  test('the page is not looked at in a browser, since none is installed here', () => {
    console.log(`untested: the page in a browser. None of ${NAMES.join(', ')} is on the PATH.`)
  })

describe.each(program === undefined ? [] : [program])('in %s', (executablePath) => {
  let browser: Browser
  beforeAll(async () => {
    // In a container, as root, Chromium has no sandbox; what it opens here is ours.
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  })
  afterAll(() => browser.close())

  test('every page is legible and accessible, on narrow and wide screens, light, dark and on paper', async () => {
    const { origin, run, file, report } = await everyPage()
    const { page, troubles } = await aPage(browser, WIDTHS[0], { bypassCSP: true })

    for (const address of [origin, `${origin}/runs/${run}`, `${origin}/runs/999`, `${origin}/?find=no`, file, report]) {
      await page.goto(address)
      await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true')
      await page.evaluate(axe.source)
      const violations = (options: object) =>
        page.evaluate(`axe.run(${JSON.stringify(options)}).then((done) => done.violations.map(({ help }) => help))`)
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 })
        expect([address, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([address, width])
        expect([address, width, await violations({})]).toEqual([address, width, []])
      }
      // On paper it is dark on white, also where the screen is dark.
      for (const media of ['screen', 'print'] as const) {
        await page.emulateMedia({ media, colorScheme: 'dark' })
        expect([address, media, await violations({ runOnly: 'color-contrast' })]).toEqual([address, media, []])
      }
      await page.emulateMedia({ media: 'screen', colorScheme: 'light' })
    }
    expect(troubles).toEqual([])
  })

  test('it shows how far a run is and how the last ones ended, and loads nothing', async () => {
    const { origin } = await everyPage()
    const { page, troubles, asked } = await aPage(browser, 1280)
    await page.goto(origin)

    const card = (organization: string) =>
      page.locator('article').filter({ has: page.getByRole('heading', { name: organization, exact: true }) })
    expect(await card('running').getByRole('progressbar').getAttribute('value')).toBe('36')
    expect(await card('failing').getByRole('img', { name: 'The last 10 runs: 3 failed' }).count()).toBe(1)
    expect(await card('fresh').getByRole('img', { name: 'The last 10 runs: none failed' }).count()).toBe(1)
    // Under its own policy the page has its style, asks for nothing else, and no rule is broken.
    expect(await page.evaluate('getComputedStyle(document.querySelector("article")).display')).toBe('grid')
    expect(asked).toEqual([`${origin}/`])
    expect(troubles).toEqual([])
  })
})

test('a paused organization is said to be, and is not late', async () => {
  const hourMs = 3_600_000
  const overview = await overviewOfAll({ late: { sinceMs: LOOKED_AT_MS - hourMs, untilMs: LOOKED_AT_MS + hourMs } })
  const late = overview.organizations.find(({ organization }) => organization === 'late')
  const said = cardsOf(await overviewPage(overview)).get('late')

  expect(late?.standing).toMatchObject({ states: ['paused'], urgency: 1 })
  expect(said).toContain('Paused 1 h ago, until')
  expect(said).toContain('customer-mirror resume late')
})

/** A page, what it complained about, and what it asked for. */
async function aPage(browser: Browser, width: number, { bypassCSP = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, bypassCSP })
  onTestFinished(() => context.close())
  const page: Page = await context.newPage()
  const [troubles, asked]: [string[], string[]] = [[], []]
  page.on('console', (message) => {
    // An answer of 404 is what was asked for.
    if (message.type() === 'error' && !message.text().includes('status of 404')) troubles.push(message.text())
  })
  page.on('pageerror', (error) => troubles.push(error.message))
  page.on('request', (request) => {
    if (!request.url().startsWith('data:')) asked.push(request.url())
  })
  return { page, troubles, asked }
}

/** The pages of a worker, and the file of `status --html`, with an organization in each state. */
async function everyPage() {
  const mirror = await aPlayedMirror(mirrorAllStates)
  const at = (id: string) => organizationAt({ baseUrl: new URL(`http://127.0.0.1:1/${id}`) }, { id })
  const { config } = aWorkplace(IN_STATES.map(at), { schedule: { cron: '0 2 * * *', timezone: 'Etc/UTC' } })
  const { organizations } = await readConfig({ file: config, cwd: '/' })
  const nowMs = LOOKED_AT_MS
  const pages = createPages({ mirror, facts: async () => overviewFacts(organizations, { nowMs, monotonicMs: 0 }) })
  const examine = async () => ({ ready: true, problems: [] })
  const watched = { examine, metrics: async () => '', pages }
  const server = await serveHttp(watched, { host: '127.0.0.1', port: 0, names: [] })
  onTestFinished(() => server.close())
  const file = await overviewPage(await overviewOf(mirror, IN_STATES))
  const run = Number(valueOf(mirror.file, `SELECT MAX(id) FROM runs WHERE organization = 'held'`))
  const asAddress = (page: string) => `data:text/html;base64,${Buffer.from(page).toString('base64')}`
  const report = await reportPage(await readFigures(mirror.file), nowMs)
  return { origin: server.origin, run, file: asAddress(file), report: asAddress(report) }
}
