import { isoOf } from '../time/iso-time.ts'
import { atPlace, copyError } from './copy-error.ts'
import { type Access, groupNumber, requireSafeFolder, unreachableFolder } from './copy-target.ts'
import { openRowsReader } from './customer-rows.ts'
import { type Recorded, recordedIn } from './organizations.ts'
import { beginPartitions, manifestFacts } from './partition-folder.ts'
import type { FolderPlan, Published } from './publish-plan.ts'
import { writeAll } from './written-file.ts'

/**
 * Publishes the customers of each organization as a Parquet file in a folder, all of one state of the mirror. A reader finds the file from
 * before or the new one. Throws UsageError, before anything is written, for a folder that is not safe or holds something else, CopyFailed, and
 * MirrorUnusable.
 */
export async function publishFolder(plan: FolderPlan): Promise<Published> {
  const { parquet: folder, mirror, group, withoutPersonalData } = plan
  atPlace(folder, () => requireSafeFolder(folder, mirror))
  const access: Access = {
    gid: group === undefined ? undefined : groupNumber(group),
    forAll: withoutPersonalData,
  }
  const state = stateOf(plan, recordedIn(mirror))
  const reader = openRowsReader(plan)
  try {
    const write = (chunk: string | Uint8Array, descriptor: number) => {
      writeAll(descriptor, typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
    }
    const partitions = beginPartitions(folder, { extension: 'parquet', write, access })
    try {
      const read = reader.organizations()
      const organizations = read.filter(({ retiredAt }) => retiredAt === null)
      const writtenAt = isoOf(reader.now())
      let customers = 0
      await reader.atOnce(async () => {
        for (const organization of organizations) {
          const place = partitions.of(organization.organization)
          const { rows } = await reader.write(organization, place)
          place.finish(rows)
          customers += rows
        }
      })
      partitions.finish({ written_at: writtenAt, without_personal_data: withoutPersonalData, state })
      const warning = unreachableFolder(`${folder}/organization=/part`, access)
      const known = new Set(read.map(({ organization }) => organization))
      const unread = plan.organizations.filter((organization) => !known.has(organization))
      return {
        copies: [],
        parquet: { folder, writtenAt, organizations: organizations.length, customers },
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
    reader.close()
  }
}

/** Whether the folder was published from what the mirror records now. */
export function isFolderUpToDate(plan: FolderPlan, recorded: Recorded): boolean {
  return manifestFacts(plan.parquet)['state'] === stateOf(plan, recorded)
}

/** Changes with another run, organization or setting, and where a customer was forgotten or an organization retired without a run. */
function stateOf({ withoutPersonalData }: FolderPlan, { lastRuns }: Recorded): string {
  const facts = lastRuns.map(({ organization, runId, status, forgotten, retiredAt }) =>
    [organization, runId, status, forgotten, retiredAt !== null].join(' '),
  )
  return [withoutPersonalData, ...facts.toSorted()].join('; ')
}
