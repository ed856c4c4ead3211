import type { StoredRun } from '../../store.ts'
import { explainReason, isReason } from '../../scan/reasons.ts'
import { count, grouped, moment, summary } from './wording.ts'
import * as z from 'zod'

/**
 * One run for people: what it did, what its scan proves, and each reason in a sentence with what was done about it. `waiting` of
 * the removals it held back still want a decision.
 */
export function describeRun(run: StoredRun, waiting: number): string {
  const lines = [
    `run #${run.runId} of ${run.organization}, ${run.status}, started ${moment(run.startedAtMs)} (${run.trigger})`,
    summary(run),
    ...(run.resumedFrom === undefined ? [] : [`It went on from run #${run.resumedFrom}, which had been interrupted.`]),
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
  failed: 'The run ended with the error above; what it had saved is kept.',
  waiting: 'The service asked to be left alone for a while. What was saved is kept, and the job comes back by itself.',
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
})

function certificateOf({ certificate }: StoredRun) {
  return certificateSchema.safeParse(certificate).data
}

function proofLines(run: StoredRun): string[] {
  if (run.proof === 'unproven')
    return ['Unproven: nobody was marked missing or removed on the strength of this scan, because']
  const certificate = certificateOf(run)
  const passes =
    certificate === undefined || certificate.passes === 1 ? '' : `, in ${count(certificate.passes, 'pass', 'passes')}`
  if (run.proof === 'converged') {
    return [
      `Converged: the last pass found nobody new, and as many customers as the total says${passes}. Weaker than a proof:`,
    ]
  }
  return [`Proven: everybody who was listed during the whole scan was read (${basisWords(certificate)})${passes}.`]
}

function basisWords(certificate: ReturnType<typeof certificateOf>): string {
  if (certificate?.basis === 'one-page') return 'the list fits one page'
  if (certificate?.basis === 'quiet') return 'nothing moved while it was read'
  return certificate?.witness === undefined
    ? 'its pages are linked'
    : `its pages are linked, ordered by ${certificate.witness}`
}

function noteLines(run: StoredRun): string[] {
  const certificate = certificateOf(run)
  if (certificate === undefined) return []
  const notes = certificate.notes.filter(({ reason }) => !run.reasons.includes(reason))
  const noteText = notes.map(
    ({ reason, times }) => `  ${reason}, ${count(times, 'time')}: ${isReason(reason) ? explainReason(reason) : ''}`,
  )
  const holes = certificate.holes.map(({ position, size }) => `  not read: ${positions(position, size)}`)
  const mended = notes.length === 0 ? [] : ['On the way, and mended by reading again:', ...noteText]
  return [...mended, ...holes, ...foundLines(certificate.found ?? [])]
}

/** Ids only, to be looked up in the service. */
function foundLines(ids: readonly string[]): string[] {
  const more = ids.length - MOST_FOUND
  const lines = ids.slice(0, MOST_FOUND).map((id) => `  found by a search, and not in the list: ${id}`)
  return more > 0 ? [...lines, `  and ${grouped(more)} more, in the certificate (--json)`] : lines
}

const MOST_FOUND = 10

function positions(position: number, size: number): string {
  return size === 1
    ? `position ${position + 1} of the list`
    : `positions ${position + 1} to ${position + size} of the list`
}

function absenceLines({ held, runId, reasons }: StoredRun, waiting: number): string[] {
  if (held === 0) return []
  const why = reasons.includes('contradicted')
    ? 'not all of them were searched for, and one that was is listed'
    : 'too many customers were absent at once to be believed'
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
