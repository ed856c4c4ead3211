import { isCapped, rememberEnd } from '../capped-total.ts'
import type { Certificate, PassProof } from '../certificate.ts'
import type { Findings } from '../findings.ts'
import type { Pass } from '../pass.ts'
import type { Reason } from '../reasons.ts'
import type { ScanCaps } from '../scan.ts'
import type { Coverage } from '../coverage.ts'

export type ScanVerdict = {
  readonly proof: Certificate['proof']
  readonly reasons: readonly Reason[]
  readonly passProof?: PassProof | undefined
}

/** The part of a page that is more than a few changes move. */
const MANY_OF_A_PAGE = 4

/** Flaws that a further pass would only find again. */
const LASTING: ReadonlySet<Reason> = new Set<Reason>([
  'hole',
  'short-page',
  'total-mismatch',
  'page-mismatch',
  'repeated-page',
  'cached-answer',
  'too-large',
  'page-cap',
  'size-refused',
])

/** What all passes of a scan share, and what those before this one found. */
type Scanned = {
  /** Passes so far, this one included. */
  readonly passes: number
  /** After this pass. */
  readonly settling: Settling
  readonly coverage: Coverage
  readonly findings: Findings
  readonly caps: ScanCaps
}

/** The verdict on a finished pass; undefined when the list should be read again. */
export function verdictOn(pass: Pass, scanned: Scanned): ScanVerdict | undefined {
  const { passes, settling, coverage, findings, caps } = scanned
  const isSettled = settling === 'settled'
  const duplicates: Reason[] = findings.noted('duplicate-id') > 0 ? ['duplicate-id'] : []
  const rejected: Reason[] = coverage.rejected > 0 ? ['rejected-without-id'] : []
  if (isCapped(pass, findings))
    return { proof: 'unproven', reasons: [...pass.flaws, ...duplicates, ...rejected, 'capped-total'] }
  if (pass.complete) rememberEnd(findings)
  const unlessRejected = (proof: Certificate['proof']) => (rejected.length > 0 ? 'unproven' : proof)
  const passProof = believable(pass, coverage, findings)
  if (passProof?.basis === 'counted') {
    const reasons = [...obstacles(pass), ...rejected]
    if (isSettled) return { proof: unlessRejected('settled'), reasons, passProof: pass.settledBy }
    return { proof: unlessRejected('converged'), reasons, passProof }
  }
  if (passProof !== undefined) return { proof: unlessRejected('proven'), reasons: rejected, passProof }

  const reasons = [...new Set([...pass.flaws, ...obstacles(pass), ...duplicates, ...rejected])]
  const flaws = [...pass.flaws].filter((flaw) => LASTING.has(flaw) && !(flaw === 'page-cap' && isSettled))
  if (flaws.length > 0) return { proof: 'unproven', reasons }
  if (isSettled && !mayProve(pass, passes, findings))
    return { proof: unlessRejected('settled'), reasons, passProof: pass.settledBy }
  if (pass.complete && coverage.converged) return { proof: unlessRejected('converged'), reasons }
  const isWorthAnother = duplicates.length === 0 && !isExhausted(pass, coverage)
  if (passes < (isWorthAnother ? caps.passes : 2) && coverage.restarts < caps.restarts) return undefined
  return { proof: 'unproven', reasons: [...reasons, 'not-converged'] }
}

/** Whether a whole pass met only rows that were known, although the list has many more by its total: no further pass finds them. */
function isExhausted(pass: Pass, coverage: Coverage): boolean {
  return pass.complete && !coverage.first && coverage.fresh === 0 && coverage.lacksMany
}

/**
 * Whether one further pass may prove a scan that could end settled: a second one with more overlap where an order vouches for the
 * list, or one that is quiet, if the list is short and the changes seen leave that a chance.
 */
function mayProve(pass: Pass, passes: number, findings: Findings): boolean {
  if (passes > 1) return false
  const isVouched = findings.believed.length > 0
  return isVouched || pass.seams?.areWorthAnother === true
}

/** Whether a pass has settled the scan, or the service contradicted itself, after which none does. */
export type Settling = 'open' | 'settled' | 'contradicted'

/**
 * The same after one more pass. A service contradicts itself where a quiet list has other rows than its total says, and where rows
 * were met again that no change explains.
 */
export function settlingAfter(
  pass: Pass,
  before: Settling,
  { coverage, findings }: Pick<Scanned, 'coverage' | 'findings'>,
): Settling {
  if (before === 'contradicted' || findings.noted('duplicate-id') > 0) return 'contradicted'
  if (pass.proof() !== undefined && believable(pass, coverage, findings) === undefined) return 'contradicted'
  if (!pass.settles) return before
  // One seam at which the list changed does not explain so many.
  const lacksMany = coverage.lacking > findings.pageSize / MANY_OF_A_PAGE && pass.seams?.areNearlyStill === true
  if (lacksMany) return before
  return !coverage.first || pass.seams?.metAgain.isExplained(coverage.fresh) === true ? 'settled' : 'contradicted'
}

/**
 * A page that lists a row twice proves nothing; neither does a quiet list whose ids do not add up to its total, nor an order in which
 * fewer were read than its total, unless so many changes were seen that as many may have come as gone.
 */
function believable(pass: Pass, coverage: Coverage, findings: Findings): PassProof | undefined {
  const proof = pass.proof()
  if (proof === undefined || findings.noted('duplicate-id') > 0) return undefined
  if (proof.basis === 'witness' || proof.basis === 'remembered order') {
    return coverage.lacksRows && pass.seams?.areNearlyStill === true ? undefined : proof
  }
  // The ends of what was counted stood where a wrong page said so.
  if (proof.basis === 'counted' && coverage.lacksMany) return undefined
  if (proof.basis !== 'quiet') return proof
  const counts = coverage.first ? coverage.agrees : coverage.rejected > 0 || coverage.distinct >= findings.total
  return counts ? proof : undefined
}

function obstacles(pass: Pass): readonly Reason[] {
  return pass.flaws.size === 0 && pass.obstacles.length === 0 ? ['not-quiet'] : pass.obstacles
}
