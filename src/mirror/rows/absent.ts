import type { Absent } from '../../run.ts'

/** A customer that was not received, as its row and its row of `absences` say. */
export type AbsentColumns = {
  row_id: number
  id: string
  name: string | null
  username: string | null
  email: string | null
  created_at_utc: string | null
  missing_proven: number
  missing_scans: number
}

/** The absent customers of a run, and how many of its organization are not removed, which is counted to find them. */
export type AbsentFound = { absent: Absent[]; notRemoved: number }

export function absentOf({ row_id, created_at_utc, missing_proven, missing_scans, ...same }: AbsentColumns): Absent {
  const counted = { missingProven: missing_proven, missingScans: missing_scans }
  return { ...same, rowId: row_id, createdAtUtc: created_at_utc, ...counted }
}
