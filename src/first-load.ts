import type { RunStatus } from './report.ts'

/**
 * Whether the list of an organization is being read for the first time, or is about to be: no run has read it to its end, and none has
 * failed. Such an organization is not as old as time; it is new.
 */
export function isFirstLoad(known: { readAsOfMs: number | undefined; status: RunStatus | undefined }): boolean {
  if (known.readAsOfMs !== undefined) return false
  return known.status !== 'failed' && known.status !== 'complete'
}
