import { ContractBroken, SourceRefused } from './errors.ts'
import type { Listed } from './mirror/listed.ts'
import type { Absent } from './mirror/removals.ts'
import type { CustomersPage } from './source/customers.ts'
import { windowFailureOf } from './window-failure.ts'

/** Asks the service for the customers that match a text: the first page of them. */
export type Search = (text: string) => Promise<CustomersPage>

/** Customers whose absence is looked into in one run; those beyond are looked into by the next. */
const MOST_SEARCHES = 100

/**
 * The ids of those customers whom a search does not find either. A search counts only when its answer is small enough to be
 * whole, and when the same kind of search finds `control`, who is known to be listed; where it does not, nobody's absence
 * is confirmed.
 */
export async function confirmAbsences(
  candidates: readonly Absent[],
  control: Listed | undefined,
  search: Search,
): Promise<Set<string>> {
  const confirmed = new Set<string>()
  const trusted = new Map<Field, boolean>()
  try {
    const telling = candidates.flatMap((candidate) => {
      const field = fieldOf(candidate)
      return field === undefined ? [] : [{ candidate, field }]
    })
    for (const { candidate, field } of telling.slice(0, MOST_SEARCHES)) {
      if (control === undefined) break
      if (!trusted.has(field)) trusted.set(field, await isListed(control, field, search))
      if (trusted.get(field) === true && (await isAbsent(candidate, field, search))) confirmed.add(candidate.id)
    }
  } catch (error) {
    // A service that cannot search confirms nothing; one that cannot be reached, or wants us to wait, ends the run.
    const cannotSearch = error instanceof SourceRefused || error instanceof ContractBroken
    if (!cannotSearch && windowFailureOf(error) === undefined) throw error
  }
  return confirmed
}

type Field = 'email' | 'username'

/** Addresses first: they are the most telling. A text of a letter or two would match half the list. */
function fieldOf(customer: Absent): Field | undefined {
  return (['email', 'username'] as const).find((field) => isTelling(customer[field]))
}

function isTelling(text: string | null): text is string {
  return text !== null && text.trim().length >= 3
}

async function isListed(control: Listed, field: Field, search: Search): Promise<boolean> {
  const text = control[field]
  if (!isTelling(text)) return false
  const { records } = await search(text)
  return idsIn(records).has(control.id)
}

async function isAbsent(candidate: Absent, field: Field, search: Search): Promise<boolean> {
  const { records, total, size } = await search(candidate[field] ?? '')
  const isWhole = records.length < size && total === records.length
  return isWhole && !idsIn(records).has(candidate.id)
}

function idsIn(records: readonly unknown[]): Set<string> {
  return new Set(
    records.flatMap((record) => {
      const isObject = typeof record === 'object' && record !== null
      return isObject && 'id' in record && typeof record.id === 'string' ? [record.id.toLowerCase()] : []
    }),
  )
}
