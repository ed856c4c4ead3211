import * as z from 'zod'
import { explainReason, isReason } from '../scan/reasons.ts'
import type { StoredRun } from '../store.ts'
import { count, grouped } from '../wording.ts'

/** A reason why a run is not proven, as one sentence; empty for a reason of another version. */
export function reasonWords(reason: string): string {
  return isReason(reason) ? explainReason(reason) : (OTHER_REASONS[reason] ?? '')
}

const OTHER_REASONS: Readonly<Record<string, string>> = {
  failed: 'The run ended with the error above; the rows it saved are kept.',
  waiting: 'The service asked for a pause. The rows saved are kept, and the job continues by itself.',
  held: 'Another run was mirroring this organization.',
}

const certificateSchema = z.object({
  pageSize: z.number().optional().catch(undefined),
  total: z.number().optional().catch(undefined),
  basis: z.string().optional(),
  witness: z.string().optional(),
  passes: z.number(),
  distinct: z.number(),
  notes: z.array(z.object({ reason: z.string(), times: z.number() })),
  holes: z.array(z.object({ position: z.number(), size: z.number() })),
  found: z.array(z.string()).optional(),
  evidence: z
    .object({ changedWithoutMoving: z.number(), fieldsRuledOut: z.array(z.string()), runs: z.number() })
    .optional()
    .catch(undefined),
})

/** The certificate of a run; undefined where it has none, or one of another version. */
export function certificateOf({ certificate }: Pick<StoredRun, 'certificate'>) {
  return certificateSchema.safeParse(certificate).data
}

/** Positions of the list that no request could read, counted from 1. */
export function positionWords({ position, size }: { position: number; size: number }): string {
  return size === 1
    ? `position ${grouped(position + 1)} of the list`
    : `positions ${grouped(position + 1)} to ${grouped(position + size)} of the list`
}

/** What a run proves, in sentences; those that are indented belong to the one before. */
export function proofLines(run: StoredRun): string[] {
  if (run.status === 'running') {
    return ['Running: what it proves is known when it ends. Until then it marks no customer as missing or removed.']
  }
  if (run.status === 'partial') {
    return [`Partial: this quick run trusted ${count(run.trustedPages ?? 0, 'page')} without reading them.`]
  }
  if (run.proof === 'unproven') return ['Unproven: this scan marked no customer as missing or removed, because']
  const certificate = certificateOf(run)
  const passes =
    certificate === undefined || certificate.passes === 1 ? '' : `, in ${count(certificate.passes, 'pass', 'passes')}`
  if (run.proof === 'settled') {
    return [
      `Settled: every customer who kept their place among the others during the scan was read${movedWords(certificate)}${passes}. Weaker than a proof, because`,
    ]
  }
  if (run.proof === 'converged') return [`Converged: ${convergedWords(certificate)}${passes}. Weaker than a proof:`]
  return [
    `Proven: every customer who was listed during the whole scan was read (${basisWords(certificate)})${passes}.`,
    ...evidenceLines(certificate),
  ]
}

/** In a list by last change, those who changed went to the top, which was read last. */
function movedWords(certificate: ReturnType<typeof certificateOf>): string {
  return certificate?.basis === 'last change' ? ', and those whom a change moved to the top' : ''
}

function convergedWords(certificate: ReturnType<typeof certificateOf>): string {
  return certificate?.basis === 'counted'
    ? 'as many customers of one creation time were read as there are positions for them, and the others are linked'
    : 'the last pass found no new customer, and as many customers as the total says'
}

function basisWords(certificate: ReturnType<typeof certificateOf>): string {
  if (certificate?.basis === 'one-page') return 'the list fits one page'
  if (certificate?.basis === 'quiet') return 'nothing moved while it was read'
  if (certificate?.basis === 'remembered order')
    return 'its pages are linked, in the order in which they were last read'
  return certificate?.witness === undefined
    ? 'its pages are linked'
    : `its pages are linked, ordered by ${certificate.witness}`
}

/** Why the order of the list as last read is believed. */
function evidenceLines(certificate: ReturnType<typeof certificateOf>): string[] {
  if (certificate?.evidence === undefined) return []
  const { changedWithoutMoving, fieldsRuledOut, runs } = certificate.evidence
  const fields = fieldsRuledOut.length === 0 ? '' : `: not by ${fieldsRuledOut.join(', ')}`
  return [
    'The order of the list is not shown. That it never changes is known from this:',
    `  ${count(changedWithoutMoving, 'customer')} changed since the list was last read, and kept their place among the others.`,
    `  No customer moved in ${count(runs, 'complete run')} in a row, this one included.`,
    `  The list is sorted by no field that may change${fields}.`,
  ]
}
