import { isPostgres } from '../../address/mirror-address.ts'
import type { Move, Moved, Moving } from './carry.ts'

/**
 * Copies one state of a mirror to the other kind of store, all of it or nothing, and compares every value of what was written. The mirror
 * stays as it is. Throws UsageError where there is a mirror already, OrganizationLeased while a run is under way, MirrorUnusable, and
 * Interrupted after an abort.
 */
export async function moveMirror(move: Move, moving: Moving): Promise<Moved> {
  if (isPostgres(move.to)) return (await import('./move-to-postgres.ts')).moveToPostgres(move, moving)
  return (await import('./move-to-file.ts')).moveToFile(move, moving)
}
