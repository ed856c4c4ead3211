import type { Connection } from '../mirror/sqlite/database.ts'
import { timeIn } from '../mirror/sql-time.ts'
import { hasTable } from './has-table.ts'
import { mirroredIn } from './mirrored-in.ts'
import { openToRead } from './open-to-read.ts'

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

/** The organizations of the mirror or copy at `file`, in order. Throws MirrorUnusable. The file is not changed, not even an older one. */
export function listMirroredOrganizations(file: string): MirroredOrganization[] {
  const opened = openToRead(file)
  try {
    return [...mirrored(opened.db), ...leaving(opened.db)].toSorted((one, other) =>
      one.organization < other.organization ? -1 : 1,
    )
  } finally {
    opened.close()
  }
}

/** The names alone, without counting anything; none where the file cannot be read. */
export function listNamesInMirror(file: string): string[] {
  try {
    const opened = openToRead(file)
    try {
      return mirroredIn(opened.db)
    } finally {
      opened.close()
    }
  } catch {
    return []
  }
}

function mirrored(db: Connection): MirroredOrganization[] {
  return db
    .prepare<[], FreshnessRow>('SELECT * FROM freshness')
    .all()
    .map(({ organization, active, removed, read_as_of, data_as_of, retired_at }) => ({
      organization,
      active: Number(active),
      removed: Number(removed),
      readAsOfMs: timeIn(read_as_of === undefined ? data_as_of : read_as_of),
      retiredAtMs: timeIn(retired_at),
      isLeaving: false,
    }))
}

/** Not all columns are in a file that an older version wrote. */
type FreshnessRow = {
  organization: string
  active: bigint
  removed: bigint
  data_as_of: string | null
  read_as_of?: string | null
  retired_at?: string | null
}

function leaving(db: Connection): MirroredOrganization[] {
  if (!hasTable(db, 'unfinished_forgets')) return []
  const none = { active: 0, removed: 0, readAsOfMs: undefined, retiredAtMs: undefined }
  return db
    .prepare<[], string>(
      'SELECT organization FROM unfinished_forgets WHERE organization NOT IN (SELECT organization FROM runs)',
    )
    .pluck()
    .all()
    .map((organization) => ({ organization, ...none, isLeaving: true }))
}
