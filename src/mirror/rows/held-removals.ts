import type { HeldRemovals } from '../../store.ts'
import { fromSqlTime } from '../sql/sql-time.ts'

export type HeldColumns = { run_id: number; organization: string; held: number; started_at: string }

export function heldRemovalsOf({ run_id, organization, held, started_at }: HeldColumns): HeldRemovals {
  return { runId: run_id, organization, held, startedAtMs: fromSqlTime(started_at) }
}
