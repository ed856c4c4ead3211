import { readFileSync, writeFileSync } from 'node:fs'
import { expect, inject, test } from 'vitest'
import type { Mirror } from '../../src/model/mirror.ts'
import { below, seededRandom, type ServiceCustomer } from '../../src/service/customers.ts'
import type { Sandbox } from '../../src/service/sandbox.ts'
import { newcomers } from '../../src/service/scenarios/scenario.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { type Mirroring, mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { customerId, MINUTE_MS, type SentRecord } from '../support/builders.ts'
import { listedSource, mirroring } from '../support/listed-source.ts'
import { aMirror, tamper, valueOf } from '../support/mirror-file.ts'
import { addressOf } from '../support/mirror-reader.ts'
import { activeIds, aDatedCustomer, datedCustomers, goneIds, syncSandbox } from '../support/mirrored-sandbox.ts'
import { startCli } from '../support/run-cli.ts'
import { seeds, someOf } from '../support/seeds.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

/** 1,050 customers take twelve overlapping windows. */
const WINDOWS = Array.from({ length: 12 }, (_, index) => index + 1)
const DOWNTIMES = ['nothing', 'inserts', 'deletes', 'both'] as const
type Downtime = (typeof DOWNTIMES)[number]

/** Unread customers are removed at once, so that the mirror shows which customers both parts of a scan have read. */
const STRICT = { removals: { after: 1, maxShare: 0.1 } }

const SEEDS = Array.from({ length: seeds(6, { least: 1 }) }, (_, index) => index + 1)

const STOPS = DOWNTIMES.flatMap((downtime) => WINDOWS.slice(0, -1).map((window) => ({ window, downtime })))

test.each(someOf(STOPS, { every: 25 }))(
  'stopped after window $window of 12, and $downtime in the downtime: exact, proven, and nothing read more than twice',
  async ({ window, downtime }) => {
    const { sandbox, mirror, part } = await aMirroredList()
    const stop = new AbortController()
    const onProgress = ({ pages }: { pages: number }) => void (pages === window && stop.abort())

    const first = await part({ concurrency: 1, signal: stop.signal, onProgress })
    expect(first.outcome.report).toMatchObject({ status: 'interrupted', requests: window, pages: window })
    change(sandbox, downtime, window)
    const second = await part({})

    expect(second.outcome.report).toMatchObject({ status: 'complete', proof: 'proven', reasons: [], held: 0 })
    await expectExact({ sandbox, mirror, parts: [first, second] })
    // The ends of the list are read once more.
    if (downtime === 'nothing') expect(first.windows.length + second.windows.length).toBeLessThanOrEqual(14)
  },
)

test.each([2, 5, 8].slice(0, inject('isDeep') ? 3 : 1))(
  'stopped after window %d of 12 on a later night, with inserts in the downtime: pages that come as before join those read before',
  async (window) => {
    const { sandbox, mirror, part } = await aMirroredList()
    for (const night of [1, 2])
      expect((await part({})).outcome.report, `night ${night}`).toMatchObject({ proof: 'proven' })
    const stop = new AbortController()
    const onProgress = ({ pages }: { pages: number }) => void (pages === window && stop.abort())
    const first = await part({ concurrency: 1, signal: stop.signal, onProgress })
    // At the end of the list, so that all the pages before come as they came.
    const hand = sandbox.organization('acme')
    const newcomer = newcomers('late')
    const last = hand.customers.at(-1)?.created_at ?? ''
    for (let count = 0; count < 3; count += 1) hand.insert(newcomer(last))
    const second = await part({})

    expect(second.outcome.report).toMatchObject({ status: 'complete', proof: 'proven', reasons: [], inserted: 3 })
    expect(second.windows.length).toBeLessThanOrEqual(12 - window + 2)
    await expectExact({ sandbox, mirror, parts: [first, second] })
  },
)

test.each(inject('isDeep') ? WINDOWS : [7])(
  'killed while it reads window %d of 12: the next run continues, is exact and proven, and reads nothing more than twice',
  async (window) => {
    let asked = 0
    let kill: (() => void) | undefined
    const { sandbox, file, mirror, part, whileRead } = await aMirroredList(() => {
      if (kill === undefined) return false
      asked += 1
      if (asked === window) kill()
      return asked >= window
    })
    const written = organizationsOf(sandbox, { scan: 'chain', concurrency: 1 })
    const { folder, config } = aWorkplace(written)
    writeFileSync(config, readFileSync(config, 'utf8').replace('./data/customers.db', addressOf(file)))

    const first = await whileRead(async () => {
      const child = startCli(['sync'], { cwd: folder })
      kill = () => child.send('SIGKILL')
      expect(await child.ended).toMatchObject({ signal: 'SIGKILL' })
      kill = undefined
    })
    expect(first.windows).toHaveLength(window - 1)
    const downtime = DOWNTIMES[window % 4] ?? 'both'
    change(sandbox, downtime, 100 + window)
    const second = await part({})

    expect(second.outcome.report).toMatchObject({ status: 'complete', proof: 'proven', reasons: [] })
    expect(valueOf(file, 'SELECT resumed_from IS NOT NULL FROM runs ORDER BY id DESC')).toBe(window > 1 ? 1 : 0)
    await expectExact({ sandbox, mirror, parts: [first, second] })
  },
)

test.each(someOf(DOWNTIMES))(
  'killed between its last window and its end, and %s in the downtime: the next run reads only the ends again',
  async (downtime) => {
    const { sandbox, mirror, file, part } = await aMirroredList()
    tamper(
      file,
      `CREATE TRIGGER never_ends BEFORE UPDATE OF finished_at ON runs WHEN new.status = 'complete'
       BEGIN SELECT RAISE(ABORT, 'killed'); END`,
    )
    tamper(
      file,
      `CREATE TRIGGER never_fails BEFORE UPDATE OF finished_at ON runs WHEN new.status = 'failed'
       BEGIN SELECT RAISE(ABORT, 'killed'); END`,
    )
    const first = await part({})
    for (const trigger of ['never_ends', 'never_fails']) tamper(file, `DROP TRIGGER ${trigger}`)
    expect(valueOf(file, 'SELECT status FROM runs ORDER BY id DESC')).toBe('running')
    change(sandbox, downtime, 7)

    const second = await part({ now: () => Date.now() + 2 * MINUTE_MS })

    const { report } = second.outcome
    expect(report).toMatchObject({ status: 'complete', proof: 'proven', removed: 0 })
    expect(report.requests).toBeLessThanOrEqual(3)
    await expectExact({ sandbox, mirror, parts: [first, second] })
  },
)

test.each(SEEDS)('stopped several times over, with changes in each downtime (seed %d)', async (seed) => {
  const random = seededRandom(`stops ${seed}`)
  const { sandbox, mirror, part } = await aMirroredList()
  for (let windows = 0; windows < 9;) {
    const stop = new AbortController()
    const pages = 1 + below(random, 3)
    const onProgress = (progress: { pages: number }) => void (progress.pages >= pages && stop.abort())
    await part({ concurrency: 1 + below(random, 4), signal: stop.signal, onProgress })
    windows += pages
    change(sandbox, DOWNTIMES[below(random, 4)] ?? 'both', 1000 * seed + windows, 3)
  }

  const last = await part({})

  expect(last.outcome.report).toMatchObject({ status: 'complete', proof: 'proven', reasons: [] })
  expectNoneLost(sandbox, mirror)
})

test('a list that changed completely in the downtime removes no customer: too many are absent at once, and the next run has the others', async () => {
  const { sandbox, mirror, part } = await aMirroredList()
  const stop = new AbortController()
  await part({ concurrency: 1, signal: stop.signal, onProgress: ({ pages }) => void (pages === 6 && stop.abort()) })
  const hand = sandbox.organization('acme')
  const newcomer = newcomers('turned over')
  for (const { id, created_at } of [...hand.customers]) {
    hand.delete(id)
    hand.insert(newcomer(created_at))
  }

  const second = await part({})
  expect(second.outcome.report).toMatchObject({ status: 'complete', removed: 0 })
  await part({})

  expect(sandbox.truth('acme').listed().difference(activeIds(mirror))).toEqual(new Set())
})

test('a customer who changes in the downtime, and is received again, has the newer values, and is counted once', async () => {
  const mirror = await aMirror()
  const list = datedCustomers(1, 300)
  const run = async (shown: readonly SentRecord[], settings: Partial<Mirroring> = {}) =>
    (await mirrorOrganization(mirroring(mirror, listedSource(shown), { scan: 'chain', ...settings }))).report
  await run(list)
  const stop = new AbortController()
  const first = await run(list, {
    ...{ concurrency: 1, signal: stop.signal, onProgress: ({ pages }) => void (pages === 9 && stop.abort()) },
  })
  expect(first.status).toBe('interrupted')

  // The ends of the list are read once more.
  const report = await run(list.with(2, aDatedCustomer(3, { name: 'Renamed' })))

  expect(report).toMatchObject({
    status: 'complete',
    proof: 'proven',
    resumedFrom: first.runId,
    updated: 1,
    missing: 0,
  })
  expect(report.readBefore + report.received - report.duplicates).toBe(300)
  expect(valueOf(mirror.file, 'SELECT name FROM customers WHERE id = ?', customerId(3))).toBe('Renamed')
  expect(valueOf(mirror.file, 'SELECT id FROM changes WHERE run_id = ?', report.runId)).toBe(customerId(3))
  expect(await run(list.with(2, aDatedCustomer(3, { name: 'Renamed' })))).toMatchObject({ updated: 0, unchanged: 300 })
})

test('a plain scan after an interrupted one reads everything itself', async () => {
  const { mirror, part, sandbox } = await aMirroredList()
  const stop = new AbortController()
  await part({ concurrency: 1, signal: stop.signal, onProgress: ({ pages }) => void (pages === 3 && stop.abort()) })

  const { outcome } = await part({ scan: 'plain' })

  expect(outcome.report).toMatchObject({ status: 'complete', received: 1050, unchanged: 1050, duplicates: 0 })
  expect(await mirror.findRun(outcome.report.runId ?? 0)).toMatchObject({ resumedFrom: undefined })
  expect(activeIds(mirror)).toEqual(sandbox.truth('acme').listed())
})

type Window = { page: number; per_page: number }
/** A run: the windows it was answered, and the list it read, which stood still meanwhile. */
type Part = { windows: Window[]; list: readonly ServiceCustomer[] }

/** A thousand customers in a sandbox, mirrored the night before. Requests that are `dropped` are not answered. */
async function aMirroredList(dropped: () => boolean = () => false) {
  const sandbox = await aSandbox({
    organizations: 1,
    intercept: async (c, next) => (dropped() ? c.body(null, 503) : next()),
  })
  const mirror = await aMirror()
  const night = await syncSandbox(sandbox, mirror, { now: () => Date.now() - 10 * MINUTE_MS })
  expect(night.report).toMatchObject({ proof: 'proven', inserted: 1050 })
  const hand = sandbox.organization('acme')

  async function whileRead<Result>(read: () => Promise<Result>): Promise<Part & { outcome: Result }> {
    const before = hand.requests.length
    const list = [...hand.customers]
    const outcome = await read()
    // Searches before a removal read no part of the list.
    const windows = hand.requests.slice(before).filter(({ status, search }) => status === 200 && search === '')
    return { windows, list, outcome }
  }
  const part = (settings: Parameters<typeof syncSandbox>[2]) =>
    whileRead(() => syncSandbox(sandbox, mirror, { ...STRICT, ...settings }))
  return { sandbox, mirror, file: mirror.file, part, whileRead }
}

/** Changes of the list during the downtime, the same for the same seed. */
function change(sandbox: Sandbox, downtime: Downtime, seed: number, most = 9): void {
  const hand = sandbox.organization('acme')
  const random = seededRandom(`downtime ${seed}`)
  const newcomer = newcomers(`downtime ${seed}`)
  const anyCustomer = () => hand.customers[below(random, hand.customers.length)]
  for (let count = 0; count < most; count += 1) {
    if (downtime === 'deletes' || downtime === 'both') hand.delete(anyCustomer()?.id ?? '')
    if (downtime === 'inserts' || downtime === 'both') hand.insert(newcomer(anyCustomer()?.created_at ?? ''))
  }
}

/** The mirror shows exactly the customers that the parts have read; they include every customer that was listed all the time. */
async function expectExact(told: { sandbox: Sandbox; mirror: Mirror; parts: readonly Part[] }): Promise<void> {
  const { sandbox, mirror, parts } = told
  const read = new Set(parts.flatMap(({ windows, list }) => windows.flatMap((window) => idsIn(window, list))))
  expect(activeIds(mirror)).toEqual(read)
  expectNoneLost(sandbox, mirror)
  const times = Map.groupBy(
    parts.flatMap(({ windows }) => windows),
    ({ page, per_page }) => `page ${page} of ${per_page}`,
  )
  expect([...times].filter(([, asked]) => asked.length > 2).map(([window]) => window)).toEqual([])
  const reader = await openMirror(mirror.file)
  expect(await reader.findDamage()).toEqual([])
  await reader.close()
}

/** Every customer that was listed all the time is active, and no listed customer is missing or removed. */
function expectNoneLost(sandbox: Sandbox, mirror: Mirror): void {
  const truth = sandbox.truth('acme')
  expect(truth.lived({ changes: 0 }).difference(activeIds(mirror))).toEqual(new Set())
  expect(goneIds(mirror).intersection(truth.listed())).toEqual(new Set())
}

function idsIn({ page, per_page }: Window, list: readonly ServiceCustomer[]): string[] {
  return list.slice(per_page * (page - 1), per_page * page).map(({ id }) => id)
}
