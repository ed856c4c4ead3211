import type { RemovalRule, Run, Searched } from '../../run.ts'
import type { Certificate } from '../../scan/certificate.ts'
import type { Source } from '../../source/customers.ts'
import type { Mirror } from '../../store.ts'
import { confirmAbsences, MOST_CONTROLS } from './confirm-absences.ts'
import { serviceTimeMs } from '../service-time.ts'

type SearchSettings = {
  source: Pick<Source, 'search' | 'counters'> & Partial<Pick<Source, 'clockOffsetMs'>>
  mirror: Pick<Mirror, 'findRemovalCandidates' | 'findListed'>
  removals: RemovalRule
  now: () => number
  /** A random number between 0 and 1. Chooses the sample of customers to search for, if too many are to be removed. */
  random: () => number
}

/**
 * Searches for the customers that the run is about to remove. The whole list has been read, so an outage, or a stop by `signal`, only
 * postpones removals.
 */
export async function searchForAbsent(
  { source, mirror, removals, now, random }: SearchSettings,
  run: Run,
  { proof, pageSize }: Pick<Certificate, 'proof' | 'pageSize'>,
  signal: AbortSignal,
): Promise<Searched> {
  if (proof === 'unproven') return NOT_SEARCHED
  const candidates = await mirror.findRemovalCandidates(run, {
    rule: removals,
    proof,
    serviceMs: serviceTimeMs({ source, now }),
  })
  if (candidates.length === 0) return NOT_SEARCHED
  const controls = await mirror.findListed(run, MOST_CONTROLS)
  return confirmAbsences(candidates, controls, {
    search: (text) => source.search(text, { size: pageSize, signal }),
    requestsMade: () => source.counters.requests,
    random,
    signal,
    confirmedBy: proof === 'settled' ? 'every field' : 'any field',
    everyKind: proof === 'proven',
  })
}

const NOT_SEARCHED: Searched = { confirmed: new Set() }
