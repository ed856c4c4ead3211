import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { env } from 'node:process'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { redisProgram } from '../../bench/redis-server.ts'

/**
 * The test files that take longest on an idle machine, the longest first: begun last, one of them would keep a single core busy
 * at the end. Vitest orders the others by the times it remembers, and in a fresh clone by their sizes.
 */
const LONGEST = [
  // In deep runs.
  'handing-on/warehouses',
  'package.deep',
  'jobs/shared-queue/redis-loss.deep',
  'status/overview.deep',
  'sync/random-days.property',
  'cli/read-postgres.deep',
  'store/postgres/killed-server',
  'scan/services',
  'scan/nights.property',
  'cli/export-process.deep',
  'jobs/worker.deep',
  'scan-on-the-service',
  'documents.deep',
  'ops/monitoring.deep',
  'copies/publish/publish-killed',
  'cli/sandbox-and-demo',
  'bench/scoreboard',
  'cli/worker',
  'cli/sql',
  'cli/export',
  'copies/open-to-read',
  'copies/backup/backup',
  'copies/export/partitions',
  'store/retention',
  'cli/publish',
  'copies/publish/publish-target',
  'bench/bench',
  'jobs/monitoring/monitoring',
  'sync/list-as-read',
  'service/scenarios',
  'cli/sync-stopped',
  'cli/program',
  'letting-go/letting-go.property',
  'copies/export/copy-and-changes',
  'sync/crash',
].map(pathOf)

/** The files that mostly wait: for a process, or until a time has passed. */
const WAITING = [
  // In deep runs. The first waits for up to a minute.
  'jobs/run/quick-job.deep',
  'jobs/shared-queue/redis-refuses.deep',
  'jobs/shared-queue/takeover.deep',
  'jobs/publish/publisher.deep',
  'jobs/queue/queue-unreachable.deep',
  'cli/check-queue.deep',
  'copies/backup/restore.deep',
  'jobs/worker',
  'jobs/shared-queue/two-configurations',
  'jobs/shared-queue/redis-refuses',
  'copies/backup/restore',
  'jobs/shared-queue/redis-loss',
  'jobs/publish/publisher',
  'jobs/renamed-organization',
  'cli/run-wait',
  'jobs/configuration/config-reload',
  'bad-input',
  'cli/forget',
  'cli/organizations',
  'cli/cancel',
  'cli/sync',
].map(pathOf)

/** Several of them at once would leave a core idle, so they are spread among the others. */
const BETWEEN = 3

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line no-array-sort -- it is a sequencer that sorts, and it returns another list.
    const sorted = await super.sort(files)
    const waiting = sorted.filter((file) => placeIn(WAITING, file) < WAITING.length)
    const busy = sorted
      .filter((file) => !waiting.includes(file))
      .toSorted((a, b) => placeIn(LONGEST, a) - placeIn(LONGEST, b))
    const spread = busy.flatMap((file, at) => (at % BETWEEN === 0 ? [...waiting.splice(0, 1), file] : [file]))
    return [...spread, ...waiting]
  }
}

/** Its length, if the file is not in the list. */
function placeIn(list: readonly string[], { moduleId }: TestSpecification): number {
  const place = list.findIndex((path) => moduleId.endsWith(path))
  return place === -1 ? list.length : place
}

function pathOf(name: string): string {
  return `/test/${name}.test.ts`
}

/** Files of long tests, `NAME.deep.test.ts`: `NAME.test.ts` beside them tests the main promise in less time. */
const DEEP_FILES = 'test/**/*.deep.test.ts'

/** The files that a run leaves out: none in a deep run. A file that is left out is not to be named on the command line. */
export function notInThisRun({ isDeep, args }: { isDeep: boolean; args: readonly string[] }): string[] {
  if (isDeep) return []
  const named = args.find((arg) => /\.deep\b/.test(arg))
  if (named !== undefined)
    throw new Error(`${named} is only in the deep run: start it with \`npm run test:deep -- ${named}\`.`)
  return [DEEP_FILES]
}

/**
 * The folder that Linux keeps in memory, where it has room and runs programs; undefined elsewhere. Thousands of small mirrors wait
 * there for no disk: on a busy one the tests took twice as long. `roomBytes` is more than the tests ever hold at once.
 */
export function memoryFolder(folder = '/dev/shm', { roomBytes = 2 * 2 ** 30 } = {}): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= roomBytes && runsPrograms(folder) ? folder : undefined
  } catch {
    return undefined
  }
}

/** Containers often allow no program there. */
function runsPrograms(folder: string): boolean {
  const place = mkdtempSync(join(folder, 'customer-mirror-'))
  try {
    writeFileSync(join(place, 'program'), '#!/bin/sh\n', { mode: 0o755 })
    return spawnSync(join(place, 'program')).status === 0
  } finally {
    rmSync(place, { recursive: true })
  }
}

/**
 * The queue the tests run on: `CUSTOMER_MIRROR_TEST_QUEUE` (`embedded`, or an address), else `REDIS_URL`, else `own`, a
 * server of their own from the PATH, else the embedded one.
 */
export function chosenQueue(): string {
  const named = env['CUSTOMER_MIRROR_TEST_QUEUE'] ?? env['REDIS_URL']
  return named ?? (redisProgram() === undefined ? 'embedded' : 'own')
}

/** Tests of what several workers do to one queue, which the embedded one cannot have, or of losing a Redis of their own. */
export function notOnThisQueue(): string[] {
  if (chosenQueue() === 'embedded') return ['test/jobs/shared-queue/**']
  const ofRedis = ['loss', 'refuses'].map((what) => `test/jobs/shared-queue/redis-${what}.*`)
  return redisProgram() === undefined ? ofRedis : []
}
