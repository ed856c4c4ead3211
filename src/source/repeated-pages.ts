import { ContractBroken } from '../errors.ts'
import type { CustomersPage } from './customers-page.ts'

/** Remembers the last pages read and throws `ContractBroken` when one comes again under another number. */
export type RepeatedPages = { refuse(page: CustomersPage, place: string): void }

const REMEMBERED = 64

/** Stale caches answer any page with the one they hold. Who stands in it is compared, since the numbers around may differ. */
export function createRepeatedPages(): RepeatedPages {
  const pageByRecords = new Map<string, number>()

  return {
    refuse({ page, size, records }, place) {
      // At another size the same last customers rightly come under another number; and a single customer moves to the
      // neighbouring number whenever another one is deleted.
      if (records.length === 0 || size === 1) return
      const key = `${size} ${records.map(nameOf).join(' ')}`
      const before = pageByRecords.get(key)
      if (before !== undefined && before !== page) {
        throw new ContractBroken(`${place}: these are the records of page ${before} again. Look for a stale cache.`, {
          code: 'repeated-page',
        })
      }
      pageByRecords.delete(key)
      pageByRecords.set(key, page)
      const [oldest] = pageByRecords.keys()
      if (pageByRecords.size > REMEMBERED && oldest !== undefined) pageByRecords.delete(oldest)
    },
  }
}

function nameOf(record: unknown): string {
  if (typeof record === 'object' && record !== null && 'id' in record && typeof record.id === 'string') return record.id
  return JSON.stringify(record)
}
