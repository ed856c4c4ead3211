import * as z from 'zod'
import { REASON_MEANINGS } from '../model/reasons.ts'
import type { StoredRun } from '../model/mirror.ts'
import type { ShapeChange } from '../model/run.ts'
import { listedNames, count, grouped } from '../text/wording.ts'

/** A reason why a run is not proven, as one sentence; empty for a reason of another version. */
export function reasonWords(reason: string): string {
  return MEANINGS.get(reason) ?? ''
}

const OF_THE_RUN = {
  failed: 'The run ended with the error above; the rows it saved are kept.',
  waiting: 'The service asked for a pause. The rows saved are kept, and the job continues by itself.',
  held: 'Another run was mirroring this organization.',
}
const MEANINGS: ReadonlyMap<string, string> = new Map(Object.entries({ ...REASON_MEANINGS, ...OF_THE_RUN }))

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

/** What a run proves, in sentences; those that are indented belong to the one before. */
export function proofLines(run: StoredRun): string[] {
  if (run.status === 'running')
    return ['Running: what it proves is known when it ends. Until then it marks no customer as missing or removed.']
  if (run.status === 'partial')
    return [`Partial: this run trusted ${count(run.trustedPages ?? 0, 'page')} without reading them.`]
  if (run.proof === 'unproven') return ['Unproven: this scan does not show that a customer has left the list, because']
  if (run.proof === 'settled') return [`${GRADES.settled} Weaker than a proof, because`]
  const { basis, witness } = certificateOf(run) ?? {}
  const linked = `its pages are linked${witness === undefined ? '' : `, ordered by ${witness}`}`
  return [`${GRADES.proven.slice(0, -1)} (${basis === 'one-page' ? 'the list fits one page' : linked}).`]
}

export const GRADES = {
  proven: 'Proven: every customer who was listed during the whole scan was read.',
  settled: 'Settled: every customer who kept their place among the others during the scan was read.',
  unproven: 'The last run does not prove who has left the list.',
} as const

/** What else a certificate says: how much of the list the service shows, fields that came or changed, and positions that no request could read. */
export function noteLines(run: Pick<StoredRun, 'certificate'>): string[] {
  const { limit, total, newFields = [], shape = [], holes = [] } = certificateOf(run) ?? {}
  const isCut = limit !== undefined && total !== undefined
  return [
    ...(isCut ? [`The service shows only the first ${grouped(limit)} of ${count(total, 'customer')}.`] : []),
    ...(newFields.length === 0
      ? []
      : [`More than half of the customers have new fields, kept in extra: ${listedNames(newFields)}.`]),
    ...shape.map((change) => `  ${shapeWords(change)}`),
    ...holes.map(({ position, size }) => {
      const which = size === 1 ? 'position' : `positions ${grouped(position + 1)} to`
      return `  not read: ${which} ${grouped(position + size)} of the list`
    }),
  ]
}

export function shapeWords({ field, customers, isRejected }: ShapeChange): string {
  const of = count(customers, 'customer')
  return `${field === '' ? 'the whole record' : field}: ${isRejected ? `not valid, so the records of ${of} are rejected` : `empty for ${of}`}`
}
