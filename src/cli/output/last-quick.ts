import type { LastQuickRun } from '../../store.ts'
import { count, grouped, moment } from './wording.ts'

/** What the latest quick run of an organization did, in one line: it is no reading of the list, and changes no age above. */
export function lastQuickText(organization: string, quick: LastQuickRun): string {
  return `${organization}: last quick run #${quick.runId} at ${moment(quick.startedAtMs)}: ${whatItDid(quick)}\n`
}

function whatItDid({
  status,
  errorCode,
  reasons,
  requests,
  trustedPages,
  inserted,
  updated,
  missing,
  held,
}: LastQuickRun): string {
  if (status === 'running') return 'under way'
  if (errorCode !== undefined) return `${status}, ${errorCode}`
  const absent = held > 0 ? `, ${grouped(held)} absent at once and not marked` : ''
  const found = `${inserted} new, ${missing} missing, ${updated} changed${absent}`
  const cost = `${count(requests, 'request')}, ${count(trustedPages, 'page')} trusted without reading`
  const why = reasons.filter((reason) => reason !== 'quick')
  return `${found} (${cost}${why.length === 0 ? '' : `; ${why.join(', ')}`})`
}
