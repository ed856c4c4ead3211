import type { SortedPage } from './mirror/pages.ts'
import { compareNeighbours, type Neighbours } from './scan/neighbours.ts'
import type { Window } from './scan/window.ts'
import { recallSorted, sortRecords, type Sorted } from './sort-records.ts'
import type { CustomersPage } from './source/customers.ts'

/** A page that was received, made ready to be saved; `window` is what was asked for, where that is to be recorded. */
export function sortPage(received: CustomersPage, window: Window | undefined): SortedPage {
  const sorted = sortedOf(received)
  const { page, size, digest, isKnown, remembered, records, total, lastPage, beyondEnd } = received
  return {
    ...sorted,
    page,
    received: isKnown ? sorted.recalled.length : records.length,
    window: window === undefined ? undefined : { ...window, perPage: size, total, lastPage, beyondEnd },
    // By this a later run can tell that the page came the same again.
    mark: digest === undefined ? undefined : { size, digest, isKnown },
    neighbours: isKnown ? remembered?.neighbours : neighboursIn(sorted, received),
  }
}

/** Only of a page that is to be remembered; of another the scan, where it needs them, compares those that can be told. */
function neighboursIn({ rows, rejects }: Sorted, { digest }: CustomersPage): Neighbours | undefined {
  return digest === undefined || rejects.length > 0 ? undefined : compareNeighbours(rows)
}

function sortedOf({ records, bytes, digest, remembered, isKnown }: CustomersPage): Sorted {
  if (isKnown) return recallSorted(remembered?.rows ?? [])
  return sortRecords(records, { pageBytes: bytes, remembered, marked: digest !== undefined })
}
