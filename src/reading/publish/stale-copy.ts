import { openDatabase } from '../../mirror/sqlite/database.ts'
import { IS_QUICK } from '../../mirror/run-conditions.ts'
import { copyTargets } from './copy-target.ts'
import { listReadOrganizations } from '../listed-organizations.ts'
import { readManifest, type Manifest } from './manifest.ts'
import { placeOf } from './configured-plan.ts'
import type { AnyPlan } from './publish-plan.ts'

/**
 * The files of the copies that lack runs of the mirror, are missing or unreadable, or of the other kind as to personal data.
 * A bucket always is: only its manifest says what it lacks. Throws MirrorUnusable for a mirror that cannot be read.
 */
export function staleCopies(plan: AnyPlan): string[] {
  if (!('file' in plan)) return [placeOf(plan)]
  const lastRuns = listLastRuns(plan.mirror)
  const targets = copyTargets(plan, listReadOrganizations(plan.mirror))
  const stale = targets.filter(({ file, organization }) => {
    const manifest = readManifest(file)
    if (manifest === undefined || manifest.withoutPersonalData !== plan.withoutPersonalData) return true
    if (organization === undefined && holdsAnother(manifest, lastRuns)) return true
    const concerned = lastRuns.filter((run) => organization === undefined || run.organization === organization)
    return concerned.some(({ organization: id, runId, latestId, status }) => {
      const known = manifest.lastRuns.get(id)
      const knownId = known?.runId ?? 0
      if (knownId < runId || knownId > latestId) return true
      // A run that is under way says so itself when it ends.
      return knownId === runId && status !== 'running' && known?.status !== status
    })
  })
  return stale.map(({ file }) => file)
}

/** Whether the copy holds an organization that the mirror no longer has: it was renamed, or forgotten. */
function holdsAnother(manifest: Manifest, lastRuns: readonly LastRun[]): boolean {
  const names = new Set(lastRuns.map(({ organization }) => organization))
  return [...manifest.lastRuns].some(([organization, { runId }]) => runId !== null && !names.has(organization))
}

/** The latest run that changed anything that a copy holds, and the latest of all. */
type LastRun = { organization: string; runId: number; latestId: number; status: string }

/** A quick run that found nothing: a copy without it lacks nothing, and a hundred of them a day would make as many copies. */
const FOUND_NOTHING = `${IS_QUICK} AND status <> 'running' AND inserted + updated + missing + returned + rejected = 0`

/** The latest run of each organization that changed anything that readers see. Throws MirrorUnusable. */
export function listLastRuns(mirror: string): LastRun[] {
  const db = openDatabase(mirror, 'read')
  try {
    const sql = `SELECT runs.organization, runId, latestId, status
      FROM (SELECT MAX(id) AS latestId, MAX(iif(${FOUND_NOTHING}, 0, id)) AS runId FROM runs GROUP BY organization)
      JOIN runs ON runs.id = iif(runId = 0, latestId, runId)`
    return db.prepare<[], LastRun>(sql).all()
  } finally {
    db.close()
  }
}
