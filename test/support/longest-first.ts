import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The test files that take longest on an idle machine, the longest first: begun last, one of them would keep a single core busy
 * at the end. Vitest orders the others by the times it remembers, and in a fresh clone by their sizes.
 */
const LONGEST = [
  // In deep runs.
  'handing-on/warehouses',
  'package.deep',
  'jobs/shared-queue/redis-loss.deep',
  'scan/definitions',
  'definitions-over-nights.property',
  'bench/whole-commands.deep',
  'bench/scoreboard.deep',
  'cli/export-process.deep',
  'jobs/worker.deep',
  'jobs/worker',
  'scan-on-the-service',
  'documented-commands',
  'forgotten-customers.property',
  'reading/publish/publish-killed',
  'cli/sandbox-and-demo',
  'resume',
  'bench/scoreboard',
  'bench/curves',
  'bench/whole-commands',
  'cli/worker',
  'cli/completion',
  'cli/sql',
  'cli/export',
  'reading/open-to-read',
  'reading/backup/backup',
  'reading/export/partitions',
  'mirror/retention',
  'cli/publish',
  'reading/publish/publish-target',
  'bench/bench',
  'jobs/shared-queue/redis-refuses',
  'jobs/shared-queue/takeover',
  'jobs/monitoring/monitoring',
  'bad-input',
  'list-as-read',
  'service/scenarios',
  'service/scenarios-of-lists',
  'jobs/queue/queue-read-only',
  'jobs/queue/postgres/folder-lock',
  'cli/sync-stopped',
  'cli/program',
  'letting-go/letting-go.property',
  'reading/export/copy-and-changes',
  'scan/ties-counted',
  'random-services.property',
  'crash',
  'scan/bad-services',
  'scan/scan-properties',
].map((name) => `/test/${name}.test.ts`)

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line no-array-sort -- it is a sequencer that sorts, and it returns another list.
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONGEST.findIndex((name) => moduleId.endsWith(name))
  return place === -1 ? LONGEST.length : place
}
