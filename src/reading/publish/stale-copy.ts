import { statSync } from 'node:fs'
import { copyTargets } from './copy-target.ts'
import { readManifest, type Manifest, type InCopy } from './manifest.ts'
import { placeOf } from './configured-plan.ts'
import { recordedIn, type RecordedRun, type Recorded } from './recorded-runs.ts'
import type { AnyPlan } from './publish-plan.ts'

/**
 * The files of the copies that lack runs of the mirror, or hold what it has forgotten or retired since, are missing or unreadable, of the other
 * kind as to personal data, or without a digest of their own. A bucket always is: only its manifest says what it lacks. `recorded` is needed for a mirror in PostgreSQL.
 * Throws MirrorUnusable for a mirror that cannot be read.
 */
export function staleCopies(plan: AnyPlan, recorded?: Recorded): string[] {
  if (!('file' in plan)) return [placeOf(plan)]
  const { lastRuns, read } = recorded ?? recordedIn(plan.mirror)
  const targets = copyTargets(plan, read)
  const stale = targets.filter(({ file, organization }) => {
    const manifest = readManifest(file)
    if (manifest === undefined || manifest.withoutPersonalData !== plan.withoutPersonalData) return true
    if (lacksDigest(file)) return true
    if (organization === undefined && holdsAnother(manifest, lastRuns)) return true
    const concerned = lastRuns.filter((run) => organization === undefined || run.organization === organization)
    return concerned.some(({ organization: id, runId, latestId, startedAt, status, ...last }) => {
      const known = manifest.lastRuns.get(id)
      if (known !== undefined && wasForgottenOrRetired(known, last)) return true
      const knownId = known?.runId ?? 0
      if (knownId < runId || knownId > latestId) return true
      // A mirror that was begun anew counts its runs from 1 again. A copy has no runs of an organization that it leaves out.
      if (knownId === runId && startedAt !== (known?.startedAt ?? startedAt)) return true
      // A run that is under way says so itself when it ends.
      return knownId === runId && status !== 'running' && known?.status !== status
    })
  })
  return stale.map(({ file }) => file)
}

/**
 * Whether the digest beside a copy is missing, or of the copy from before, since a publish ended between the two. It is made after its
 * copy; to compare it would take as long as reading all of that.
 */
function lacksDigest(file: string): boolean {
  const digest = statSync(`${file}.sha256`, { bigint: true, throwIfNoEntry: false })
  const copy = statSync(file, { bigint: true, throwIfNoEntry: false })
  return copy !== undefined && (digest === undefined || digest.mtimeNs < copy.mtimeNs)
}

/** Whether a customer was forgotten or the organization retired since, for which no run is needed. */
function wasForgottenOrRetired(
  known: InCopy,
  { forgotten, retiredAt }: Pick<RecordedRun, 'forgotten' | 'retiredAt'>,
): boolean {
  return known.forgotten !== null && (forgotten > known.forgotten || retiredAt !== known.retiredAt)
}

/** Whether the copy holds an organization that the mirror no longer has: it was renamed, or forgotten. */
function holdsAnother(manifest: Manifest, lastRuns: readonly RecordedRun[]): boolean {
  const names = new Set(lastRuns.map(({ organization }) => organization))
  return [...manifest.lastRuns].some(([organization, { runId }]) => runId !== null && !names.has(organization))
}
