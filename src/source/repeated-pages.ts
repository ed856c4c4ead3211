import { ContractBroken } from '../errors.ts'
import type { CustomersPage } from './customers-page.ts'

/** Remembers the last pages read and throws `ContractBroken` when one comes again under another number. */
export type RepeatedPages = { refuse(page: CustomersPage, place: string): void }

const REMEMBERED = 64

/** Stale caches answer any page with the one they hold. Who stands in it is compared, since the numbers around may differ. */
export function createRepeatedPages(): RepeatedPages {
  const pages = new Map<string, { page: number; names: readonly string[] }>()

  return {
    refuse(received, place) {
      const { page, size } = received
      const names = namesIn(received)
      // At another size the same last customers rightly come under another number; and a single customer moves to the
      // neighbouring number whenever another one is deleted.
      if (names.length === 0 || size === 1) return
      const key = `${size} ${names.length} ${names[0]} ${names.at(-1)}`
      const before = pages.get(key)
      const isRepeated = before !== undefined && before.page !== page
      if (isRepeated && names.every((name, position) => name === before.names[position])) {
        throw new ContractBroken(
          `${place}: these are the records of page ${before.page} again. Look for a stale cache.`,
          {
            code: 'repeated-page',
          },
        )
      }
      pages.delete(key)
      pages.set(key, { page, names })
      const [oldest] = pages.keys()
      if (pages.size > REMEMBERED && oldest !== undefined) pages.delete(oldest)
    },
  }
}

function namesIn({ isKnown, remembered, records }: CustomersPage): string[] {
  return isKnown && remembered !== undefined ? remembered.rows.map(({ id }) => id) : records.map(nameOf)
}

function nameOf(record: unknown): string {
  if (typeof record === 'object' && record !== null && 'id' in record && typeof record.id === 'string') {
    return record.id.toLowerCase()
  }
  return JSON.stringify(record)
}
