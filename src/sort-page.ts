import type { Fingerprint } from './fingerprint.ts'
import type { SortedPage } from './mirror/pages.ts'
import type { KnownPage } from './remembered-page.ts'
import { compareNeighbours, type Neighbours } from './scan/neighbours.ts'
import type { Window } from './scan/window.ts'
import { recallSorted, sortRecords, type Sorted } from './sort-records.ts'
import type { CustomersPage } from './source/customers.ts'

/** A page that was received, made ready to be saved; `window` is what was asked for, where that is to be recorded. */
export function sortPage(received: CustomersPage, window: Window | undefined, fingerprint: Fingerprint): SortedPage {
  const { page, size, digest, known, records, total, lastPage, beyondEnd } = received
  const { sorted, neighbours } = known === undefined ? sortAnew(received, fingerprint) : recall(known)
  return {
    ...sorted,
    page,
    received: known?.rowIds.length ?? records.length,
    window: window === undefined ? undefined : { ...window, perPage: size, total, lastPage, beyondEnd },
    // By this a later run can tell that the page came the same again.
    mark: digest === undefined ? undefined : { size, digest, isKnown: known !== undefined },
    neighbours,
  }
}

type SortedInOrder = { sorted: Sorted; neighbours: Neighbours | undefined }

function recall(known: KnownPage): SortedInOrder {
  return { sorted: recallSorted(known), neighbours: known.neighbours }
}

/** Neighbours only of a page that is to be remembered; of another the scan compares those that can be told. */
function sortAnew({ records, bytes, digest, remembered }: CustomersPage, fingerprint: Fingerprint): SortedInOrder {
  const isMarked = digest !== undefined
  const sorted = sortRecords(records, { pageBytes: bytes, remembered, fingerprint: isMarked ? fingerprint : undefined })
  const isToCompare = isMarked && sorted.rejects.length === 0
  return { sorted, neighbours: isToCompare ? compareNeighbours(sorted.rows) : undefined }
}
