import * as z from 'zod'
import { explainReason, isReason } from '../model/reasons.ts'
import type { StoredRun } from '../model/mirror.ts'
import type { ShapeChange } from '../model/run.ts'
import { listedNames, count, grouped } from '../text/wording.ts'

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
  limit: z.number().optional().catch(undefined),
  basis: z.string().optional(),
  witness: z.string().optional(),
  distinct: z.number(),
  isWhole: z.boolean().optional(),
  holes: z.array(z.object({ position: z.number(), size: z.number() })),
  found: z.array(z.string()).optional(),
  newFields: z.array(z.string()).optional(),
  shape: z.array(z.object({ field: z.string(), customers: z.number(), isRejected: z.boolean() })).optional(),
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
    return [`Partial: this run trusted ${count(run.trustedPages ?? 0, 'page')} without reading them.`]
  }
  if (run.proof === 'unproven') return ['Unproven: this scan does not show that a customer has left the list, because']
  if (run.proof === 'settled') {
    return [
      'Settled: every customer who kept their place among the others during the scan was read. Weaker than a proof, because',
    ]
  }
  return [`Proven: every customer who was listed during the whole scan was read (${basisWords(certificateOf(run))}).`]
}

function basisWords(certificate: ReturnType<typeof certificateOf>): string {
  if (certificate?.basis === 'one-page') return 'the list fits one page'
  return certificate?.witness === undefined
    ? 'its pages are linked'
    : `its pages are linked, ordered by ${certificate.witness}`
}

/** How much of the list the service shows, where that is not all; empty otherwise. */
export function limitLines(run: Pick<StoredRun, 'certificate'>): string[] {
  const { limit, total } = certificateOf(run) ?? {}
  if (limit === undefined || total === undefined) return []
  return [`The service shows only the first ${grouped(limit)} of ${count(total, 'customer')}.`]
}

/** Fields that came with this run and that the specification does not know; empty where there are none. */
export function newFieldLines(run: Pick<StoredRun, 'certificate'>): string[] {
  const { newFields = [] } = certificateOf(run) ?? {}
  if (newFields.length === 0) return []
  return [`More than half of the customers have new fields, kept in extra: ${listedNames(newFields)}.`]
}

/** A field that has changed, and for how many customers. */
export function shapeWords({ field, customers, isRejected }: ShapeChange): string {
  const what = isRejected ? 'not valid, so that the records are rejected of' : 'empty for'
  return `${field === '' ? 'the whole record' : field}: ${what} ${count(customers, 'customer')}`
}
