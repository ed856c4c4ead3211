import { hash } from 'node:crypto'
import { ContractBroken } from '../errors.ts'
import type { CustomersPage } from './customers-page.ts'

/** Remembers the last pages read and throws `ContractBroken` when one comes again under another number. */
export type RepeatedPages = { refuse(page: CustomersPage, place: string): void }

const REMEMBERED = 64

/** Stale caches answer any page with the one they hold: the same records, whatever the numbers around them say. */
export function createRepeatedPages(): RepeatedPages {
  /** Page numbers by the size and the records of the page. */
  const pages = new Map<string, number>()

  return {
    refuse(received, place) {
      const { page, size } = received
      const digest = digestOf(received)
      // At another size the same last customers rightly come under another number; and a single customer moves to the
      // neighbouring number whenever another one is deleted.
      if (digest === undefined || size === 1) return
      const key = `${size} ${digest}`
      const before = pages.get(key)
      if (before !== undefined && before !== page) {
        throw new ContractBroken(`${place}: these are the records of page ${before} again. Look for a stale cache.`, {
          code: 'repeated-page',
        })
      }
      pages.delete(key)
      pages.set(key, page)
      const [oldest] = pages.keys()
      if (pages.size > REMEMBERED && oldest !== undefined) pages.delete(oldest)
    },
  }
}

/** Undefined for a page without records. */
function digestOf({ digest, records }: CustomersPage): string | undefined {
  if (digest !== undefined) return digest
  const parsed = records()
  return parsed.length === 0 ? undefined : hash('sha256', JSON.stringify(parsed), 'base64url')
}
