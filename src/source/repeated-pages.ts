import { createHash } from 'node:crypto'
import { ContractBroken } from '../errors.ts'
import type { CustomersPage } from './customers-page.ts'

/** Remembers the last pages read and throws `ContractBroken` when one comes again under another number. */
export type RepeatedPages = { refuse(page: CustomersPage, place: string): void }

const REMEMBERED = 64

/** Stale caches answer any page with the one they hold. The records are compared, since the numbers around them may differ. */
export function createRepeatedPages(): RepeatedPages {
  const pageByDigest = new Map<string, number>()

  return {
    refuse({ page, size, records }, place) {
      // At another size the same last customers rightly come under another number; and a single customer moves to the
      // neighbouring number whenever another one is deleted.
      if (records.length === 0 || size === 1) return
      const digest = createHash('sha256')
        .update(`${size} ${JSON.stringify(records)}`)
        .digest('base64')
      const before = pageByDigest.get(digest)
      if (before !== undefined && before !== page) {
        throw new ContractBroken(`${place}: these are the records of page ${before} again. Look for a stale cache.`, {
          code: 'repeated-page',
        })
      }
      pageByDigest.delete(digest)
      pageByDigest.set(digest, page)
      const [oldest] = pageByDigest.keys()
      if (pageByDigest.size > REMEMBERED && oldest !== undefined) pageByDigest.delete(oldest)
    },
  }
}
