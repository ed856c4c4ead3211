import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Pause } from '../../src/model/pause.ts'
import { type Overview, type OverviewFacts, readOverview } from '../../src/status/overview.ts'
import { openMirror, type Mirror } from '../../src/store/mirror.ts'
import { rowIdsFrom } from '../../src/store/runs/list-memory.ts'
import { night, scanEnding } from '../store/nights.ts'
import { aCustomer, aPage, customers, MINUTE_MS, START_MS, DAY_MS, HOUR_MS } from './builders.ts'
import { aMirror, aPlayedMirror, fileAfter, mirrorPages, tamper, valueOf, temporaryFolder } from './mirror-file.ts'
import { aPlan, publishAll } from './publishing.ts'

/** A mirror in a file, also where the tests run on PostgreSQL. It is closed when the test ends. */
export async function aSqliteMirror(): Promise<Mirror> {
  const mirror = await openMirror(join(temporaryFolder(), 'customers.db'))
  onTestFinished(() => mirror.close())
  return mirror
}

/** Five nights of two organizations, and rows in every other table. */
export const aFullMirror = fileAfter(async (mirror) => {
  for (let n = 0; n < HOW_MANY_NIGHTS; n += 1) await playNight(mirror, n)
  const { file } = mirror
  const firstOf = (id: string) => Number(valueOf(file, 'SELECT min(row_id) FROM customers WHERE organization = ?', id))
  const [acme, globex] = [firstOf('acme'), firstOf('globex')]
  tamper(file, `DELETE FROM changes WHERE seq = (SELECT max(seq) FROM changes)`)
  tamper(file, `INSERT INTO held_rows VALUES ('globex', ?, 2, '2026-07-01 00:00:00.000', 0)`, globex)
  tamper(file, `INSERT OR IGNORE INTO absences VALUES ('globex', ?, 1, 1, 1)`, globex)
  tamper(file, `INSERT INTO edited_customers (organization, row_id) VALUES ('acme', 9000)`)
  tamper(file, `INSERT INTO windows VALUES (1, 0, 100, 100, 5, 0, ?, '["a", null]')`, rowIdsFrom([acme, 0, -1]))
  const later = [rowIdsFrom([0, acme + 2, acme]), rowIdsFrom([acme + 1, 9002])]
  tamper(file, `INSERT OR REPLACE INTO lists VALUES ('acme', 1, 'reader', '{"warnings":[{}]}', ?, ?)`, ...later)
  const columns = `VALUES ('acme', 0, ?, x'00ff', x'', x'', x'')`
  tamper(file, `INSERT OR REPLACE INTO list_columns ${columns}`, rowIdsFrom([acme, 9001]))
  tamper(file, `INSERT INTO privacy_policies VALUES ('acme', '{}', '{}', 'customers', ?, '[]', 1)`, acme)
  tamper(file, `INSERT INTO retired_organizations VALUES ('globex', '2026-01-01 00:00:00.123')`)
  tamper(file, `INSERT INTO unfinished_forgets VALUES ('initech')`)
  tamper(file, `INSERT INTO forgotten_keys VALUES ('acme', randomblob(32))`)
  tamper(file, `INSERT INTO forgotten VALUES (7, 'acme', 'hash', '2026-01-01 00:00:00.000')`)
  tamper(file, `INSERT INTO horizons VALUES ('acme', 0, 0, '2026-01-01 00:00:00.000', NULL)`)
  const at = '2026-01-01 00:00:00.000'
  tamper(file, `INSERT INTO rejects VALUES (NULL, 1, 'acme', NULL, 'key', 1, 0, '{}', '[]', ?, ?, NULL)`, at, at)
})

/** Values that other programs may get wrong. */
const ODD = aCustomer(6, {
  name: 'Ünïcode "quoted", comma;\nsecond line 花子',
  phone: undefined,
  language: undefined,
  created_at: 'long ago',
  vip: { level: 1 },
})

const RENAMED = aCustomer(1, { name: 'Renamed Person', language: 'fr' })

/** What acme and globex list night by night, in pages, and how much a clock that is wrong is ahead. */
const NIGHTS: readonly { acme: unknown[][]; globex: unknown[][]; aheadMs?: number }[] = [
  { acme: [customers(1, 5), [ODD], customers(7, 60, { language: 'de' })], globex: [customers(101, 110)] },
  // The clock is wrong, and put right before the next night. 2 and 3 left, 61 is new.
  { acme: [[RENAMED, ...customers(4, 5), ODD], customers(7, 61)], globex: [customers(101, 110)], aheadMs: 3 * DAY_MS },
  // 2 and 3 are removed; 4 left.
  { acme: [[RENAMED, aCustomer(5), ODD], customers(7, 61)], globex: [customers(101, 109)] },
  // 2 returns, 4 is removed, 62 and 63 are new; in globex 110 is removed.
  { acme: [[RENAMED, aCustomer(2), aCustomer(5), ODD], customers(7, 63)], globex: [customers(101, 109)] },
  // 3 returns with another name; 5 left.
  { acme: [[RENAMED, aCustomer(2), aCustomer(3, { name: 'Returned Person' }), ODD], customers(7, 63)], globex: [] },
]

export const HOW_MANY_NIGHTS = NIGHTS.length

/** Mirrors one of the five nights: customers come, change, leave, are removed and return. */
export async function playNight(mirror: Mirror, n: number, { startMs = START_MS } = {}): Promise<void> {
  const { acme = [], globex = [], aheadMs = 0 } = NIGHTS[n] ?? {}
  const atMs = startMs + n * DAY_MS + aheadMs
  const ending = scanEnding({})
  await mirrorPages(mirror, acme, { organization: 'acme', atMs, ending })
  if (globex.length > 0) await mirrorPages(mirror, globex, { organization: 'globex', atMs: atMs + MINUTE_MS, ending })
}

/** A copy of a mirror after the five nights. */
export async function publishedCopy(options: { startMs?: number } = {}): Promise<string> {
  const mirror = await aMirror()
  for (let n = 0; n < HOW_MANY_NIGHTS; n += 1) await playNight(mirror, n, options)
  return publishedFrom(mirror)
}

/** The copy of a mirror as it is now; a file that is given is replaced. */
export function publishedFrom(mirror: Mirror, file = join(temporaryFolder(), 'copies', 'customers.db')): string {
  publishAll(aPlan(mirror.file, { file }))
  return file
}

/** The night on which the page is looked at, and when. */
const TONIGHT = 9
export const LOOKED_AT_MS = START_MS + TONIGHT * DAY_MS + 20 * MINUTE_MS

/** One organization for each state, by the name of the state, and what must be true of it. */
export const IN_STATES = ['failing', 'fresh', 'held', 'late', 'never', 'running', 'unproven', 'waiting'] as const

export async function mirrorAllStates(mirror: Mirror): Promise<void> {
  const { file } = mirror
  for (let n = 0; n < TONIGHT; n += 1) {
    const list = customers(1, 40 + (n % 7))
    const inTime = ['fresh', 'running', 'waiting', 'held', ...(n < TONIGHT - 3 ? ['late'] : [])]
    for (const organization of inTime) await night(mirror, n, list, { organization })
    const failing = n < TONIGHT - 2 ? {} : { ending: REFUSED }
    await night(mirror, n, n < TONIGHT - 2 ? list : [], { organization: 'failing', ...failing })
    await night(mirror, n, list, { organization: 'unproven', proof: n % 5 === 0 ? 'proven' : 'unproven' })
  }
  await night(mirror, TONIGHT, customers(1, 45), { organization: 'fresh' })
  await night(mirror, TONIGHT, [], { organization: 'failing', ending: REFUSED })
  await night(mirror, TONIGHT, customers(1, 40), { organization: 'unproven', proof: 'unproven' })
  await night(mirror, TONIGHT, customers(1, 20), { organization: 'waiting', ending: WAITING })
  // So many are absent twice that a guard holds their removal back.
  await night(mirror, TONIGHT - 1, customers(1, 8), { organization: 'held', rule: { after: 1, maxShare: 0.1 } })
  await night(mirror, TONIGHT, customers(1, 8), { organization: 'held', rule: { after: 1, maxShare: 0.1 } })
  const nowMs = LOOKED_AT_MS - MINUTE_MS
  const run = await mirror.startRun({ organization: 'running', trigger: 'schedule', nowMs })
  const window = { page: 1, size: 17, perPage: 17, total: 46, beyondEnd: false }
  await mirror.savePages(run, [{ ...aPage(1, customers(1, 17)), window }], LOOKED_AT_MS - 1000)
  tamper(file, `UPDATE runs SET duration_ms = 30000 + (id * 7919) % 90000 WHERE status <> 'running'`)
}

export const REFUSED = {
  status: 'failed',
  proof: 'unproven',
  reasons: ['failed'],
  readToEnd: false,
  error: { code: 'unauthorized', message: 'https://private.example.com answered 401 to Jane Doe' },
} as const

const WAITING = {
  status: 'waiting',
  proof: 'unproven',
  reasons: ['waiting'],
  readToEnd: false,
  source: { requests: 9, throttled: 3, waitedMs: 45_000 },
} as const

const dueEveryNight: OverviewFacts['organizations'][number]['dueOf'] = (freshness) => {
  const lastMs = START_MS + TONIGHT * DAY_MS
  const readAsOfMs = freshness?.readAsOfMs ?? freshness?.firstRunAtMs ?? 0
  const isLate = readAsOfMs < lastMs - DAY_MS && LOOKED_AT_MS - DAY_MS - readAsOfMs > 2 * HOUR_MS
  const next = { nextMs: lastMs + DAY_MS, nextLocal: '2026-01-15 02:00 GMT', nextPartialMs: undefined }
  return { lastMs, ...next, isDue: readAsOfMs < lastMs, isLate }
}

/** More than pipes hold. */
export const CUSTOMERS = 3000

export const ENDLESS = 'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT COUNT(*) FROM c'

/** acme: 1 to 4 with 2 removed; globex: 101. The feed has a change of 1 and the removal of 2. */
export const aMirrorToExport = fileAfter(async (open) => {
  const rule = { rule: { after: 2, maxShare: 1 } }
  await night(open, 0, customers(1, 4), rule)
  await night(open, 0, [aCustomer(101)], { organization: 'globex' })
  const later = [aCustomer(1, { name: 'Ada, "Countess"', vip: { n: 1 } }), ...customers(3, 4)]
  await night(open, 1, later, rule)
  await night(open, 2, later, rule)
})

export async function overviewOfAll(paused: Record<string, Pause> = {}): Promise<Overview> {
  return overviewOf(await aPlayedMirror(mirrorAllStates), IN_STATES, paused)
}

export function overviewOf(mirror: Mirror, ids: readonly string[], paused: Record<string, Pause> = {}) {
  return readOverview(mirror, factsOf(ids, paused))
}

export function factsOf(ids: readonly string[], paused: Record<string, Pause> = {}): OverviewFacts {
  const organizations = ids.map((id) => ({ id, dueOf: dueEveryNight, paused: paused[id] }))
  return { organizations, nowMs: LOOKED_AT_MS, monotonicMs: undefined }
}

export function cardsOf(page: string): Map<string, string> {
  const [, ...cards] = page.split('<article')
  const plain = (card: string) => card.replaceAll(/<svg[^]*?<\/svg>|<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
  return new Map(cards.map((card) => [/<h3>(.*?)<\/h3>/.exec(card)?.[1] ?? '', plain(card).trim()]))
}
