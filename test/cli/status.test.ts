import { appendFileSync, chmodSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { examine } from '../../jobs/monitoring/endpoints.ts'
import { overviewFacts } from '../../jobs/monitoring/metrics.ts'
import { readConfig } from '../../src/config/read-config.ts'
import type { Ending } from '../../src/model/run.ts'
import { readStandings } from '../../src/status/overview.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { quickRun, scanEnding } from '../store/nights.ts'
import { customers, START_MS, HOUR_MS } from '../support/builders.ts'
import { aMirroredWorkplace } from '../support/commands.ts'
import { faultServer, list, refusal } from '../support/fault-server.ts'
import { REFUSED } from '../support/full-mirror.ts'
import { PROMTOOL, metricsOf, promtool, readExposition } from '../support/metrics.ts'
import { aMirror, mirrorPages, tamper } from '../support/mirror-file.ts'
import { failing } from '../support/run-cli.ts'
import {
  type Workplace,
  anAwayWorkplace,
  aSandbox,
  aWorkplace,
  organizationAt,
  organizationsOf,
} from '../support/workplace.ts'

const PROVEN = scanEnding({})
const NOT_PROVEN = { proof: 'unproven', reasons: ['rejected-without-id'] } as const
const OUTAGE = { ...REFUSED, error: { code: 'server-error', message: '503' } } as const

let workplace: Workplace
let mirror: Mirror

beforeEach(async () => {
  ;({ workplace, mirror } = await anAwayWorkplace())
})

const aRun = (hoursAgo: number, ending: Partial<Ending>, records = customers(1, 100)) =>
  mirrorPages(mirror, [records], { atMs: Date.now() - hoursAgo * HOUR_MS, ending })
const aQuickRun = () => quickRun(mirror, 0, [], { hour: (Date.now() - START_MS) / HOUR_MS })
const startRun = (agoMs = 0) => mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: Date.now() - agoMs })

/** The code `status` ends with, and what it says of acme. */
async function said(args = '') {
  const { code, stdout } = await workplace.run(`status --json${args}`)
  return { code, ...JSON.parse(stdout).organizations[0] }
}

type Aged = { organization: string; tooOld: boolean; lastQuick: unknown }

test('each organization is shown, also those never mirrored, --max-age is checked for each, and a quick run changes no age', async () => {
  workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [120, 7, 3] })))
  await workplace.run('sync acme globex')
  const day = `read_as_of = datetime(read_as_of, '-1 day'), started_at = datetime(started_at, '-1 day')`
  tamper(workplace.mirror, `UPDATE runs SET ${day} WHERE organization = 'globex'`)
  tamper(
    workplace.mirror,
    `INSERT INTO runs (organization, "trigger", started_at, finished_at, status, reasons, requests, held, trusted_pages, read_as_of)
     VALUES ('acme', 'schedule', '2026-01-05 10:15:00', '2026-01-05 10:15:02', 'partial', '["quick"]', 31, 21, 969, '2026-01-05 10:15:00')`,
  )

  const stdout = expect.stringMatching(/^initech +never /m)
  expect(await workplace.run('status')).toMatchObject({ code: 0, stderr: '', stdout })
  for (const [age, tooOld] of Object.entries({ '9000d': ['initech'], '23h': ['globex', 'initech'] })) {
    const aged = await workplace.run(`status --json --max-age ${age}`)
    const { organizations }: { organizations: Aged[] } = JSON.parse(aged.stdout)
    expect(aged.code).toBe(3)
    expect(organizations.flatMap((each) => (each.tooOld ? [each.organization] : []))).toEqual(tooOld)
    expect(organizations[0]?.lastQuick).toMatchObject({ run: 3, held: 21, trustedPages: 969, errorCode: null })
  }
})

test('one record without an id costs the proof, not the freshness', async () => {
  await aRun(48, PROVEN)
  await aRun(2, NOT_PROVEN)

  const hours = (number: number) => expect.toSatisfy((seconds: number) => Math.floor(seconds / 3600) === number)
  expect(await said(' --max-age 26h')).toMatchObject({
    ...{ code: 0, tooOld: false, why: ['rejected-without-id'], proof: 'unproven' },
    ...{ readAgeSeconds: hours(2), provenAgeSeconds: hours(48) },
  })
  for (const [args, code] of Object.entries({ '26h --proven': 3, '3d --proven': 0, '121m': 0, '119m': 3 }))
    expect(await said(` --max-age ${args}`)).toMatchObject({ code, tooOld: code === 3 })
})

test.each<[string, () => Promise<unknown>, object]>([
  ['no run at all', async () => {}, { code: 3, tooOld: true, readAsOf: null, why: ['never-mirrored'] }],
  ['the error of the last run', () => aRun(1, REFUSED), { code: 3, tooOld: true, why: ['unauthorized'] }],
  ['a proven run', () => aRun(1, PROVEN), { code: 0, why: [] }],
  ['no run after the last one', () => aRun(30, PROVEN), { code: 3, why: ['no-run-since'] }],
  ['a first run under way', () => startRun(), { code: 0, why: ['running'] }],
  ['a first run under way for longer', () => startRun(27 * 3_600_000), { code: 3, tooOld: true }],
  ['a run under way', () => aRun(30, PROVEN).then(() => startRun()), { code: 3, why: ['running'] }],
  ['a failed run after a good one', () => aRun(27, PROVEN).then(() => aRun(1, REFUSED)), { code: 3 }],
  ['an outage in the first load, as old as its first run', () => aRun(5, OUTAGE), { code: 0, why: ['server-error'] }],
  ['a quick run alone', () => aQuickRun(), { code: 3, tooOld: true, why: ['never-mirrored'] }],
])('why reports %s', async (_, arrange, expected) => {
  await arrange()

  expect(await said(' --max-age 26h')).toMatchObject(expected)
})

test('while removals are held back it ends with 3, whatever later runs do, until they are approved', async () => {
  await aRun(50, PROVEN)
  const { runId } = await aRun(26, PROVEN, customers(51, 100))
  await aRun(2, NOT_PROVEN, customers(51, 100))

  expect(await said()).toMatchObject({ code: 3, held: 50, tooOld: false, why: ['rejected-without-id', 'held 50'] })
  await mirror.close()
  await workplace.run(`removals approve ${runId} --yes`)
  expect(await said()).toMatchObject({ code: 0, held: 0, removed: 50, why: ['rejected-without-id'] })
})

test('a date in the future is called that and does not count as fresh; one that is nearly right does', async () => {
  await aRun(0, PROVEN)
  tamper(workplace.mirror, `UPDATE runs SET read_as_of = datetime('now', '+1 hours')`)
  expect(await said(' --max-age 26h')).toMatchObject({ code: 0, tooOld: false, why: [] })

  tamper(workplace.mirror, `UPDATE runs SET read_as_of = '2051-01-01 00:00:00'`)
  for (const proven of ['', ' --proven'])
    expect(await said(` --max-age 26h${proven}`)).toMatchObject({ code: 3, tooOld: true, why: ['future-date'] })
  expect(await said()).toMatchObject({ code: 0, readAsOf: '2051-01-01T00:00:00.000Z' })
})

test('what needs a person stands first, once for all organizations with the same problem', async () => {
  const refusing = await faultServer(refusal(403, 'forbidden', 'No.'))
  const shops = Array.from({ length: 20 }, (_, index) => ({
    ...organizationAt(refusing, { id: `shop-${index}` }),
    apiKey: `key-${index}`,
  }))
  const { run } = aWorkplace([organizationAt(await faultServer(list(3)), { id: 'acme' }), ...shops])
  const synced = await run('sync')
  const { stdout } = await run('status')

  for (const text of [synced.stderr, stdout]) {
    expect(text.match(/^✖ 20 organizations: plan forbids.*shop-0, .*shop-19/gm)).toHaveLength(1)
    expect(text.match(/fix: /g)).toHaveLength(1)
  }
  expect(stdout).toMatch(/^✖ 20 organizations[^]*\nshop-0 [^]*\nacme /)
})

test('a changed shape ends status with 3 until it is accepted, once', async () => {
  const certificate = { basis: 'one-page', distinct: 100, requests: 1, pageSize: 100, holes: [], reasons: [] }
  await aRun(2, { ...PROVEN, certificate }, customers(1, 100, { phone: '1' }))
  await aRun(1, { ...PROVEN, certificate }, customers(1, 100, { phone: null }))
  const { organizations } = await readConfig({ file: workplace.config, cwd: '/' })
  const facts = overviewFacts(organizations, { nowMs: Date.now(), monotonicMs: 0 })
  const readiness = await examine({ write: async () => {}, workers: [], standings: await readStandings(mirror, facts) })

  expect(await said()).toMatchObject({ code: 3, proof: 'unproven', why: ['shape-changed'] })
  const page = (await workplace.run('status --html -')).stdout
  expect(page).toContain('customer-mirror accept acme')
  // It is a file of its own: it loads nothing, and leads nowhere.
  expect(page).toContain('default-src &#39;none&#39;')
  expect(page).not.toContain('href="/')
  expect((await workplace.run('runs show 2')).stdout).toMatch(
    /shape-changed: Many records have lost a field[^]*\n {2}phone: empty for 100 customers\n/,
  )
  expect(readiness).toMatchObject({ ready: true, shapeChanged: ['acme'] })

  const accepted = [{ field: 'phone', customers: 100, isRejected: false }]
  expect(await workplace.json('accept acme')).toEqual({ schemaVersion: 1, organization: 'acme', accepted })
  expect((await workplace.run('status')).code).toBe(0)
  expect(await workplace.run('accept acme')).toMatchObject(failing(2, 'there is nothing to accept'))
})

const FORMS = [
  ['status.html', 0o600, 'status --html'],
  ['customer-mirror.prom', 0o644, 'status --format prometheus --output'],
] as const

test.each(FORMS)('%s has its mode, replaces nothing but itself, and outlives a mirror', async (name, mode, writing) => {
  const place = await aMirroredWorkplace([12, 7])
  const file = join(place.folder, name)

  for (let time = 0; time < 2; time += 1) {
    expect(await place.run(`${writing} ${file}`)).toEqual({ code: 0, stdout: '', stderr: '' })
    chmodSync(file, time === 0 ? 0o640 : mode)
  }
  tamper(place.mirror, `UPDATE runs SET read_as_of = datetime('now', '-27 hours')`)
  expect(await place.run(`${writing} ${file} --max-age 26h`)).toMatchObject({ code: 3, stdout: '' })

  expect(statSync(file).mode & 0o777).toBe(mode)
  const beside = readdirSync(place.folder).filter((each) => !/^(data|customer-mirror\.yaml)$/.test(each))
  expect(beside).toEqual([name])
  const [before, settings] = [file, place.config].map((path) => readFileSync(path, 'utf8'))
  expect((await place.run(`${writing} -`)).stdout.slice(0, 200)).toBe(before?.slice(0, 200))

  expect(await place.run(`${writing} ${place.mirror}`)).toMatchObject(failing(2, 'is the mirror itself'))
  expect(await place.run(`${writing} ${place.config}`)).toMatchObject(failing(2, 'is the configuration'))
  expect(readFileSync(place.config, 'utf8')).toBe(settings)
  rmSync(place.mirror)
  expect(await place.run(`${writing} ${file}`)).toMatchObject({ code: 7, stdout: '' })
  expect(readFileSync(file, 'utf8')).toBe(before)
})

test('the metrics are what the mirror knows, by the names and with the help of the worker, and without an age', async () => {
  const place = await aMirroredWorkplace([12, 7])
  tamper(place.mirror, `UPDATE runs SET read_as_of = '2026-01-04 02:00:00.500' WHERE organization = 'acme'`)
  appendFileSync(place.config, '\nschedule: { cron: "0 2 * * *", timezone: Etc/UTC }\n')
  const { code, stdout } = await place.run('status --format prometheus')
  const families = readExposition(stdout)
  const ofWorker = readExposition((await metricsOf({ mirror: await aMirror(place.mirror) }).lines()).join('\n'))
  const valuesOf = (name: string) => families.get(`customer_mirror_${name}`)?.samples.map(({ value }) => value) ?? []

  expect(code).toBe(0)
  expect(valuesOf('last_success_timestamp_seconds')).toContain(Date.UTC(2026, 0, 4, 2, 0, 0, 500) / 1000)
  expect(valuesOf('open_rejects')).toEqual([0, 0])
  expect(new Date((valuesOf('next_due_timestamp_seconds')[0] ?? 0) * 1000).toISOString()).toMatch(/T02:00:00.000Z$/)
  expect(stdout).not.toContain('_age_seconds')
  for (const [name, { type, help }] of families)
    if (!/_(status|next_due)_timestamp_seconds$/.test(name))
      expect(ofWorker.get(name), name).toMatchObject({ type, help })
  expect(promtool(['check', 'metrics'], stdout)).toBe('')
  if (PROMTOOL === undefined) console.log('untested: promtool check metrics. It is not installed here.')
})
