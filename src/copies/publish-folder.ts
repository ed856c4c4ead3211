import { isoOf } from '../time/iso-time.ts'
import { atPlace, copyError } from './copy-error.ts'
import { type Access, groupNumber, requireSafeFolder, unreachableFolder } from './copy-target.ts'
import { exportRows } from './export-rows.ts'
import { inOneState, nowIn, openToRead } from './open-to-read.ts'
import { readOrganizations, type Recorded, recordedIn } from './organizations.ts'
import { parquetFormat } from './parquet.ts'
import { beginPartitions, manifestOf } from './partition-folder.ts'
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
    const write = (chunk: string | Uint8Array, descriptor: number) => {
      writeAll(descriptor, typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
    }
    const partitions = beginPartitions(folder, { extension: 'parquet', write, access })
    try {
      const { read, writtenAt, rows } = inOneState(opened, (db) => {
        const known = readOrganizations(db)
        const organizations = known
          .filter(({ retiredAt }) => retiredAt === null)
          .map(({ organization }) => organization)
        const selection = { organizations, includeRemoved: true, withoutPersonalData }
        const format = parquetFormat({ ids: 'text' })
        const to = (organization: string) => partitions.of(organization)
        // To name none is to export all.
        const all = organizations.length === 0 ? undefined : exportRows(db, { selection, configured: [], format, to })
        return { read: known, writtenAt: isoOf(nowIn(db)), rows: all?.rows ?? 0 }
      })
      const facts = { written_at: writtenAt, without_personal_data: withoutPersonalData, state }
      const files = partitions.finish(facts)
      const warning = unreachableFolder(`${folder}/_manifest.json`, access)
      const known = new Set(read.map(({ organization }) => organization))
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
  return atPlace(plan.parquet, () => manifestOf(plan.parquet))['state'] === stateOf(plan, recorded)
}

/** Changes with another run, organization or setting, and where a customer was forgotten or an organization retired without a run. */
function stateOf({ withoutPersonalData }: FolderPlan, { lastRuns }: Recorded): string {
  const facts = lastRuns.map(({ organization, runId, status, forgotten, retiredAt }) =>
    [organization, runId, status, forgotten, retiredAt !== null].join(' '),
  )
  return [withoutPersonalData, ...facts.toSorted()].join('; ')
}
