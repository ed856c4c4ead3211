import type { OrderFacts } from '../list/order-facts.ts'
import type { Bisections } from './plan/bisections.ts'
import type { Certificate } from './certificate.ts'
import type { Coverage } from './coverage.ts'
import type { Findings } from './findings.ts'
import type { PageSizes } from './plan/page-sizes.ts'
import type { Pass } from './pass.ts'
import type { Passes } from './passes/passes.ts'
import type { ScanVerdict } from './passes/verdict.ts'

/** What a scan knows at one moment. */
type Known = {
  readonly passes: Passes
  readonly answers: number
  readonly findings: Findings
  readonly coverage: Coverage
  readonly sizes: PageSizes
  readonly bisections: Bisections
}

/** The certificate of a scan; before it is done: unproven, because interrupted. */
export function certificateOf({ passes, findings, coverage, ...known }: Known): Certificate {
  const { proof, reasons, passProof } = passes.verdict ?? interrupted(passes.current)
  return {
    proof,
    basis: passProof?.basis,
    witness: passProof?.witness,
    evidence: passProof?.evidence,
    reasons,
    notes: findings.notes,
    passes: passes.count,
    requests: known.answers,
    distinct: coverage.distinct,
    pageSize: findings.pageSize,
    total: known.sizes.isKnown ? findings.total : undefined,
    stoppedAt: passes.stoppedAt,
    empty: passes.current.complete && coverage.distinct === 0 && coverage.rejected === 0,
    holes: known.bisections.holes,
  }
}

function interrupted({ flaws }: Pass): ScanVerdict {
  return { proof: 'unproven', reasons: ['interrupted', ...flaws] }
}

/** What the next scan of this list should know of its order. */
export function orderForNextScan(findings: Findings, { current }: Passes): OrderFacts {
  const nextOrder = { ...findings.nextOrder, overlap: findings.overlap.usual }
  const isWhole = current.complete && current.flaws.size === 0
  return isWhole && mayNeedMemory(findings) ? { ...nextOrder, ...findings.remembered.facts() } : nextOrder
}

/** Where rows are in order of their ids, or of creation times of which few are equal, no memory of the list is needed. */
function mayNeedMemory({ believed, witnesses, pageSize }: Findings): boolean {
  if (believed.length === 0) return true
  return witnesses.onlyTimes && witnesses.longestTie >= pageSize / 2
}
