import type { StoredReject } from '../../store.ts'
import { fromSqlTime } from '../sql/sql-time.ts'

/** A row of `rejects`. */
export type RejectColumns = {
  organization: string
  run_id: number
  record_id: string | null
  page: number
  position: number
  payload: string
  reasons: string
  seen_at: string
}

export function storedRejectOf(row: RejectColumns): StoredReject {
  return {
    organization: row.organization,
    runId: row.run_id,
    recordId: row.record_id,
    page: row.page,
    position: row.position,
    payload: row.payload,
    reasons: JSON.parse(row.reasons),
    seenAtMs: fromSqlTime(row.seen_at),
  }
}
