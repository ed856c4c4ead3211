import type { StoredRun } from '../store.ts'
import { certificateOf } from './proof-words.ts'

/** What the certificate of a run says of its windows and the seams between them. No id of a customer is among it. */
export type Scan = {
  /** Undefined in certificates of earlier versions. */
  pageSize: number | undefined
  passes: number
  distinct: number
  /** As the service stated it last. */
  total: number | undefined
  basis: string | undefined
  witness: string | undefined
  /** What went wrong between windows, repaired or not, and how often. */
  seams: readonly { reason: string; times: number }[]
  /** Positions that no request could read. */
  holes: readonly { position: number; size: number }[]
  /** How many customers a search found that the list did not show. */
  found: number
  /** Whether the scan claims to have read the whole list. */
  isWhole: boolean
}

/** The scan of a run; undefined where it has no certificate, or one of another version. */
export function scanOf(run: Pick<StoredRun, 'certificate' | 'proof'>): Scan | undefined {
  const certificate = certificateOf(run)
  if (certificate === undefined) return undefined
  const { pageSize, passes, distinct, total, basis, witness, notes, holes, found = [] } = certificate
  return {
    ...{ pageSize, passes, distinct, total, basis, witness, holes },
    seams: notes,
    found: found.length,
    isWhole: run.proof !== 'unproven',
  }
}
