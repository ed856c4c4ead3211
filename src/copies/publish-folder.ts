import { isoOf } from '../time/moments.ts'
import { atPlace, copyError } from './copy-error.ts'
import { type Access, groupNumber, requireSafeFolder, unreachableFolder } from './copy-target.ts'
import { exportRows } from './export-rows.ts'
import { bytesOf, type Chunk } from './format.ts'
import { inOneState, nowIn, openToRead } from './open-to-read.ts'
import { organizationsToPublish, rowFactsOf, runFactsOf } from './object-manifest.ts'
import { type Recorded, recordedIn } from './organizations.ts'
import { parquetFormat } from './parquet.ts'
import { beginPartitions, readManifestIn } from './partition-folder.ts'
import type { FolderPlan, Published } from './publish-plan.ts'
import { writeAll } from './written-file.ts'

/**
 * Publishes the customers of each organization as a Parquet file in a folder, all of one state of the mirror. A reader finds the file from
 * before or the new one. Throws UsageError, before anything is written, for a folder that is not safe or holds something else, CopyFailed, and
 * MirrorUnusable.
 */
export function publishFolder(plan: FolderPlan): Published {
  const { parquet: folder, mirror, group, withoutPersonalData } = plan
  atPlace(folder, () => requireSafeFolder(folder, mirror))
  const access: Access = {
    gid: group === undefined ? undefined : groupNumber(group),
    forAll: withoutPersonalData,
  }
  const state = stateOf(plan, recordedIn(mirror))
  const opened = openToRead(mirror, { asMade: true })
  try {
    const write = (chunk: Chunk, descriptor: number) => void writeAll(descriptor, bytesOf(chunk))
    const partitions = beginPartitions(folder, { extension: 'parquet', write, access })
    try {
      const { known, facts, writtenAt, rows } = inOneState(opened, (db) => {
        const found = organizationsToPublish(db)
        const published = found.filter(({ retiredAt }) => retiredAt === null)
        const organizations = published.map(({ organization }) => organization)
        const selection = { organizations, includeRemoved: true, withoutPersonalData }
        const format = parquetFormat({ ids: 'text' })
        const to = (organization: string) => partitions.of(organization)
        // To name none is to export all.
        const all = organizations.length === 0 ? undefined : exportRows(db, { selection, configured: [], format, to })
        const factsOf = (one: (typeof found)[number]) => ({ ...runFactsOf(one), ...rowFactsOf(db, one.organization) })
        return {
          known: new Set(found.map(({ organization }) => organization)),
          facts: new Map(published.map((one) => [one.organization, factsOf(one)])),
          writtenAt: isoOf(nowIn(db)),
          rows: all?.rows ?? 0,
        }
      })
      const about = { written_at: writtenAt, without_personal_data: withoutPersonalData, state }
      const files = partitions.finish(about, (organization) => facts.get(organization) ?? {})
      const warning = unreachableFolder(`${folder}/_manifest.json`, access)
      const unread = plan.organizations.filter((organization) => !known.has(organization))
      return {
        copies: [],
        parquet: { folder, writtenAt, organizations: files, customers: rows },
        leftOut: unread.map((organization) => ({ organization, reason: 'never-read' })),
        failed: [],
        warnings: warning === undefined ? [] : [warning],
      }
    } finally {
      partitions.close()
    }
  } catch (error) {
    throw copyError(error, folder)
  } finally {
    opened.close()
  }
}

/** Whether the folder was published from what the mirror records now. */
export function isFolderUpToDate(plan: FolderPlan, recorded: Recorded): boolean {
  return atPlace(plan.parquet, () => readManifestIn(plan.parquet))['state'] === stateOf(plan, recorded)
}

/** Changes with another run, organization or setting, and where a customer was forgotten or an organization retired without a run. */
function stateOf({ withoutPersonalData }: FolderPlan, { lastRuns }: Recorded): string {
  const facts = lastRuns.map(({ organization, runId, status, forgotten, retiredAt }) =>
    [organization, runId, status, forgotten, retiredAt !== null].join(' '),
  )
  return [withoutPersonalData, ...facts.toSorted()].join('; ')
}
