import type { Run } from '../run.ts'
import type { Certificate } from '../scan/certificate.ts'

/** Fewer customers than these may leave the list while it is read. */
const FEW = 20
const FEW_SHARE = 0.01

/**
 * Takes the proof from a scan whose run received many more customers than the service counts, as many of them new: an answer that was
 * asked for again may have brought them, and they are not listed. In an initial sync, where all are new, they may also have been purged
 * meanwhile.
 */
export function judgeSurplus(
  certificate: Certificate,
  { isBaseline, seen, rejectedIds, records }: Pick<Run, 'isBaseline' | 'seen' | 'rejectedIds' | 'records'>,
): Certificate {
  const { proof, total, reasons } = certificate
  if (isBaseline || proof === 'unproven' || total === undefined) return certificate
  const surplus = Math.min(seen.size + rejectedIds.size - total, records.inserted)
  if (surplus <= Math.max(FEW, total * FEW_SHARE)) return certificate
  return { ...certificate, proof: 'unproven', reasons: [...reasons, 'total-mismatch'] }
}
