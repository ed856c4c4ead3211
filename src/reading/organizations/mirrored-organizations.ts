import type { Connection } from '../../store/sqlite/connect.ts'
import { timeIn } from '../../store/port/sql-time.ts'
import { hasTable } from '../has-table.ts'
import { openToRead } from '../open-to-read.ts'

/** An organization of which a mirror, or a published copy, holds anything. */
export type MirroredOrganization = {
  organization: string
  active: number
  removed: number
  /** The start of the last run that read its list to the end; undefined if there is none. Unix milliseconds. */
  readAsOfMs: number | undefined
  /** Since when it is retired; undefined if it is not. */
  retiredAtMs: number | undefined
  /** Whether it is forgotten, but for bytes that may be left in the file. */
  isLeaving: boolean
}

/** The organizations of the mirror or copy at `file`, in order. Throws MirrorUnusable. The file is not changed. */
export function listMirroredOrganizations(file: string): MirroredOrganization[] {
  const opened = openToRead(file)
  try {
    return mirroredOrganizations(freshnessIn(opened.db), leavingIn(opened.db))
  } finally {
    opened.close()
  }
}

function freshnessIn(db: Connection): FreshnessRow[] {
  return db.prepare<[], FreshnessRow>('SELECT * FROM freshness').all()
}

function leavingIn(db: Connection): LeavingRow[] {
  return hasTable(db, 'unfinished_forgets') ? db.prepare<[], LeavingRow>(LEAVING).all() : []
}

export type FreshnessRow = {
  organization: string
  active: bigint | number
  removed: bigint | number
  read_as_of: string | null
  retired_at: string | null
}

export type LeavingRow = { organization: string }

/** The organizations that are forgotten, but for bytes that may be left. */
export const LEAVING =
  'SELECT organization FROM unfinished_forgets WHERE organization NOT IN (SELECT organization FROM runs)'

/** The organizations in such rows, in order. */
export function mirroredOrganizations(
  fresh: readonly FreshnessRow[],
  leaving: readonly LeavingRow[],
): MirroredOrganization[] {
  const none = { active: 0, removed: 0, readAsOfMs: undefined, retiredAtMs: undefined }
  return [
    ...fresh.map(({ organization, active, removed, read_as_of, retired_at }) => ({
      organization,
      active: Number(active),
      removed: Number(removed),
      readAsOfMs: timeIn(read_as_of),
      retiredAtMs: timeIn(retired_at),
      isLeaving: false,
    })),
    ...leaving.map(({ organization }) => ({ organization, ...none, isLeaving: true })),
  ].toSorted((one, other) => (one.organization < other.organization ? -1 : 1))
}
