import { openDatabase } from '../mirror/database.ts'
import { copyTargets } from './copy-target.ts'
import { listReadOrganizations } from './listed-organizations.ts'
import { readManifest } from './manifest.ts'
import type { PublishPlan } from './publish-plan.ts'

/**
 * Whether the mirror has runs that the copies do not know, or a copy is missing, unreadable, or of the other kind as to personal
 * data. Throws MirrorUnusable for a mirror that cannot be read.
 */
export function isStale(plan: PublishPlan): boolean {
  const lastRuns = listLastRuns(plan.mirror)
  const targets = copyTargets(plan, listReadOrganizations(plan.mirror))
  return targets.some(({ file, organization }) => {
    const manifest = readManifest(file)
    if (manifest === undefined || manifest.withoutPersonalData !== plan.withoutPersonalData) return true
    const concerned = lastRuns.filter((run) => organization === undefined || run.organization === organization)
    return concerned.some(({ organization: id, runId, status }) => {
      const known = manifest.lastRuns.get(id)
      // A run that is under way says so itself when it ends.
      return known?.runId !== runId || (status !== 'running' && known.status !== status)
    })
  })
}

type LastRun = { organization: string; runId: number; status: string }

function listLastRuns(mirror: string): LastRun[] {
  const db = openDatabase(mirror, 'read')
  try {
    const sql = 'SELECT organization, MAX(id) AS runId, status FROM runs GROUP BY organization'
    return db.prepare<[], LastRun>(sql).all()
  } finally {
    db.close()
  }
}
