import { ContractBroken } from '../errors.ts'
import type { CustomersPage } from './customers-page.ts'

/** Remembers the last pages read and throws `ContractBroken` when one comes again under another number. */
export type RepeatedPages = { refuse(page: CustomersPage, place: string): void }

const REMEMBERED = 64

/**
 * Stale caches answer any page with the one they hold. Who stands in it is compared, since the numbers around may differ;
 * where its records were not read, their bytes.
 */
export function createRepeatedPages(): RepeatedPages {
  const pages = new Map<string, Seen>()

  return {
    refuse(received, place) {
      const seen = seenIn(received)
      // At another size the same last customers rightly come under another number; and a single customer moves to the
      // neighbouring number whenever another one is deleted.
      if (seen === undefined || received.size === 1) return
      const before = pages.get(seen.key)
      if (before !== undefined && before.page !== seen.page && areSame(before, seen)) {
        throw new ContractBroken(
          `${place}: these are the records of page ${before.page} again. Look for a stale cache.`,
          {
            code: 'repeated-page',
          },
        )
      }
      pages.delete(seen.key)
      pages.set(seen.key, seen)
      const [oldest] = pages.keys()
      if (pages.size > REMEMBERED && oldest !== undefined) pages.delete(oldest)
    },
  }
}

/** The same customers on two pages stand first and last on both. */
type Seen = { key: string; page: number; digest: string | undefined; names: readonly string[] | undefined }

function seenIn({ page, size, digest, known, records }: CustomersPage): Seen | undefined {
  const names = known === undefined ? records.map(nameOf) : undefined
  const [count, first, last] =
    known === undefined
      ? [records.length, names?.[0], names?.at(-1)]
      : [known.rowIds.length, known.ends[0].id, known.ends[1].id]
  return count === 0 ? undefined : { key: `${size} ${count} ${first} ${last}`, page, digest, names }
}

function areSame(one: Seen, other: Seen): boolean {
  if (one.names === undefined || other.names === undefined) return one.digest === other.digest
  return one.names.every((name, position) => name === other.names?.[position])
}

function nameOf(record: unknown): string {
  if (typeof record === 'object' && record !== null && 'id' in record && typeof record.id === 'string') {
    return record.id.toLowerCase()
  }
  return JSON.stringify(record)
}
