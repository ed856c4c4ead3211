import { statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import pLimit from 'p-limit'
import type { Organization } from '../../src/config/organization.ts'
import type { Outcome } from '../../src/sync/mirror-organization.ts'
import { isPostgres } from '../../src/address/mirror-address.ts'
import { keepHeapSmall } from '../../src/machine/memory.ts'
import { monotonicMs } from '../../src/machine/timers.ts'
import { runOrganization, type RateLimits, type RunSettings } from '../../src/sync/run-organization.ts'
import { DEFAULT_PRESET, recipeOf } from '../../src/signing/signing.ts'
import { createStopwatch, printMeasurement, watchEventLoop } from '../measure.ts'
import { baseUrlOf, CREDENTIALS, readTask, type Task } from '../messages.ts'
import { openMirror } from '../../src/store/mirror.ts'

/** A program: Customer Mirror itself, as `sync` runs it, from opening the file to closing it. */
const task = readTask()
const inFile = !isPostgres(task.file)
// The program is loaded before it is timed, also the store that it loads when it opens a mirror. Other members are `sync` as a whole.
await (inFile ? import('../../src/store/open-sqlite.ts') : import('../../src/store/postgres/open-database.ts'))
keepHeapSmall()
const stopwatch = createStopwatch(inFile ? dirname(task.file) : tmpdir())
const { outcomes, longestTurn } = await stopwatch.time(() => sync(task))

const counts: Record<string, number> = {}
let [requests, received] = [0, 0]
for (const { report, error } of outcomes) {
  if (error !== undefined) throw error
  const { inserted, updated, unchanged, duplicates, rejected, missing, removed, held, proof } = report
  requests += report.requests
  received += report.received - duplicates
  const did = { inserted, updated, unchanged, rejected, missing, removed, held, proven: proof === 'proven' ? 1 : 0 }
  for (const [name, count] of Object.entries(did)) counts[name] = (counts[name] ?? 0) + count
}
const ofFile = inFile ? { fileBytes: statSync(task.file).size } : { writtenBytes: undefined }
printMeasurement({ ...stopwatch.result(), ...longestTurn(), requests, customers: received, counts, ...ofFile })

async function sync({ organizations, file, sideBySide }: Task) {
  const mirror = await openMirror(file)
  // From here on: to load the program and to open a file takes a moment once.
  const turnsOfLoop = watchEventLoop()
  const rateLimits: RateLimits = new Map()
  const turns = pLimit(sideBySide)
  try {
    const all = await turns.map(organizations, (id) => run(id, { mirror, rateLimits }))
    return { outcomes: all, longestTurn: turnsOfLoop }
  } finally {
    await mirror.close()
  }
}

function run(id: string, shared: Pick<RunSettings, 'mirror' | 'rateLimits'>): Promise<Outcome> {
  return runOrganization(organizationOf(id, task), {
    ...shared,
    trigger: 'sync',
    longestWaitMs: 0,
    now: Date.now,
    monotonicMs,
    random: Math.random,
    signal: new AbortController().signal,
  })
}

function organizationOf(id: string, { origin, scan, concurrency }: Task): Organization {
  return {
    id,
    baseUrl: new URL(baseUrlOf(origin, id)),
    apiKey: { literal: CREDENTIALS.apiKey },
    secret: { literal: CREDENTIALS.secret },
    pageSize: 100,
    concurrency,
    requestTimeoutMs: 30_000,
    maxWaitMs: 0,
    maxRunMs: 3_600_000,
    resumeWithinMs: 0,
    scan,
    removals: { after: 2, maxShare: 0.1 },
    rateLimit: {},
    signing: recipeOf(DEFAULT_PRESET),
    ...{ retention: undefined, privacy: undefined, schedule: undefined },
  }
}
