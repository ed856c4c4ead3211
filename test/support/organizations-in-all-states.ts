import type { Mirror } from '../../src/model/mirror.ts'
import type { Due } from '../../src/status/standing.ts'
import { DAY_MS, night } from '../store/nights.ts'
import { aPage, customers, MINUTE_MS, START_MS } from './builders.ts'
import { tamper } from './mirror-file.ts'

const HOUR_MS = 60 * MINUTE_MS
/** The night on which the page is looked at, and when. */
const TONIGHT = 29
export const LOOKED_AT_MS = START_MS + TONIGHT * DAY_MS + 20 * MINUTE_MS

/** One organization for each state, by the name of the state, and what must be true of it. */
export const IN_STATES = ['failing', 'fresh', 'held', 'late', 'never', 'running', 'unproven', 'waiting'] as const

/** Mirrors thirty nights of every organization, so that each is in the state of its name. */
export async function mirrorAllStates(mirror: Mirror): Promise<void> {
  const { file } = mirror
  for (let n = 0; n < TONIGHT; n += 1) {
    const list = customers(1, 40 + (n % 7))
    await night(mirror, n, list, { organization: 'fresh' })
    await night(mirror, n, list, { organization: 'running' })
    if (n < TONIGHT - 3) await night(mirror, n, list, { organization: 'late' })
    await night(mirror, n, list, { organization: 'waiting' })
    await night(mirror, n, list, { organization: 'held' })
    await night(mirror, n, n < TONIGHT - 2 ? list : [], {
      organization: 'failing',
      ...(n >= TONIGHT - 2 && { ending: REFUSED }),
    })
    await night(mirror, n, list, { organization: 'unproven', proof: n % 5 === 0 ? 'proven' : 'unproven' })
  }
  await night(mirror, TONIGHT, customers(1, 45), { organization: 'fresh' })
  await night(mirror, TONIGHT, [], { organization: 'failing', ending: REFUSED })
  await night(mirror, TONIGHT, customers(1, 40), { organization: 'unproven', proof: 'unproven' })
  await night(mirror, TONIGHT, customers(1, 20), { organization: 'waiting', ending: WAITING })
  // So many are absent twice that a guard holds their removal back.
  await night(mirror, TONIGHT - 1, customers(1, 8), { organization: 'held', rule: { after: 1, maxShare: 0.1 } })
  await night(mirror, TONIGHT, customers(1, 8), { organization: 'held', rule: { after: 1, maxShare: 0.1 } })
  const lookedAt = LOOKED_AT_MS
  const run = await mirror.startRun({ organization: 'running', trigger: 'schedule', nowMs: lookedAt - 60_000 })
  await mirror.savePages(run, [{ ...aPage(1, customers(1, 17)), ...aWindow(17, 46) }], lookedAt - 1000)
  tamper(file, `UPDATE runs SET duration_ms = 30000 + (id * 7919) % 90000 WHERE status <> 'running'`)
}

function aWindow(size: number, total: number) {
  return { window: { page: 1, size, perPage: size, total, lastPage: 3, beyondEnd: false } }
}

/** How a run ends that the service refused. */
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

/** Every organization is due at two o'clock each night. */
export function dueEveryNight(
  _organization: string,
  freshness: { readAsOfMs: number | undefined; firstRunAtMs?: number | undefined } | undefined,
): Due {
  const lastMs = START_MS + TONIGHT * DAY_MS
  const readAsOfMs = freshness?.readAsOfMs ?? freshness?.firstRunAtMs ?? 0
  return {
    lastMs,
    nextMs: lastMs + DAY_MS,
    nextLocal: '2026-02-04 02:00 GMT',
    nextQuickMs: undefined,
    isDue: readAsOfMs < lastMs,
    isLate: readAsOfMs < lastMs - DAY_MS && LOOKED_AT_MS - DAY_MS - readAsOfMs > 2 * HOUR_MS,
  }
}
