import type { StoredRun } from '../../store.ts'
import { explainReason, isReason } from '../../scan/reasons.ts'
import { count, grouped, moment, summary } from './wording.ts'
import * as z from 'zod'

/**
 * Explains one run: what it did, what its scan proves, and each reason in one sentence. `waiting` is the number of its held
 * removals that still wait for a decision.
 */
export function describeRun(run: StoredRun, waiting: number): string {
  const lines = [
    `run #${run.runId} of ${run.organization}, ${run.status}, started ${moment(run.startedAtMs)} (${run.trigger})`,
    summary(run),
    ...(run.resumedFrom === undefined ? [] : [`It continued run #${run.resumedFrom}, which had been interrupted.`]),
    ...(run.error === undefined ? [] : [`${run.error.code}: ${run.error.message}`]),
    '',
    ...proofLines(run),
    ...run.reasons.map(
      (reason) => `  ${reason}: ${isReason(reason) ? explainReason(reason) : (OTHER_REASONS[reason] ?? '')}`,
    ),
    ...noteLines(run),
    ...absenceLines(run, waiting),
  ]
  return `${lines.join('\n').trimEnd()}\n`
}

const OTHER_REASONS: Readonly<Record<string, string>> = {
  failed: 'The run ended with the error above; the rows it saved are kept.',
  waiting: 'The service asked for a pause. The rows saved are kept, and the job continues by itself.',
  held: 'Another run was mirroring this organization.',
}

const certificateSchema = z.object({
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

function certificateOf({ certificate }: StoredRun) {
  return certificateSchema.safeParse(certificate).data
}

function proofLines(run: StoredRun): string[] {
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

function noteLines(run: StoredRun): string[] {
  const certificate = certificateOf(run)
  if (certificate === undefined) return []
  const notes = certificate.notes.filter(({ reason }) => !run.reasons.includes(reason))
  const noteText = notes.map(
    ({ reason, times }) => `  ${reason}, ${count(times, 'time')}: ${isReason(reason) ? explainReason(reason) : ''}`,
  )
  const holes = certificate.holes.map(({ position, size }) => `  not read: ${positions(position, size)}`)
  const repaired = notes.length === 0 ? [] : ['Repaired during the scan by reading again:', ...noteText]
  return [...repaired, ...holes, ...foundLines(certificate.found ?? [])]
}

/** Only the ids, to look up in the service. */
function foundLines(ids: readonly string[]): string[] {
  const more = ids.length - MOST_FOUND
  const lines = ids.slice(0, MOST_FOUND).map((id) => `  found by a search, but not in the list: ${id}`)
  return more > 0 ? [...lines, `  and ${grouped(more)} more, in the certificate (--json)`] : lines
}

const MOST_FOUND = 10

function positions(position: number, size: number): string {
  return size === 1
    ? `position ${position + 1} of the list`
    : `positions ${position + 1} to ${position + size} of the list`
}

function absenceLines({ held, runId, reasons, status }: StoredRun, waiting: number): string[] {
  if (held === 0) return []
  if (status === 'partial') {
    return [`${count(held, 'customer')} absent at once, too many to be marked as missing: the next full run decides.`]
  }
  const why = reasons.includes('contradicted')
    ? 'a search of a sample of them found a customer that is listed'
    : 'too many customers were absent at once'
  if (waiting === 0) {
    return [
      `${count(held, 'removal')} held back: ${why}. Nothing is left to`,
      'decide: they were approved or discarded, their customers were listed again, or a later run held them back.',
    ]
  }
  const left = waiting === held ? '' : ` (${grouped(waiting)} wait for a decision)`
  return [
    `${count(held, 'removal')} held back${left}: ${why}. If they are gone,`,
    `customer-mirror removals approve ${runId}; if not, customer-mirror removals discard ${runId}.`,
  ]
}
