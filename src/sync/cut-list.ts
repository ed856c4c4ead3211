import type { ListAsRead } from '../model/list-as-read.ts'
import type { Certificate } from '../scan/scan.ts'

/** A list as a run left it, and what is known of its total. */
type Listed = { readonly columns: Pick<ListAsRead['columns'], 'rowIds'>; readonly order: ListAsRead['order'] }

/** What a run has received. */
type Received = { readonly seen: { has(rowId: number): boolean }; readonly records: { inserted: number } }

/**
 * The total at which the service stops counting, if two nights show it together. Customers came and the total is the same as before; those
 * who stood at the end of the list are absent; and the list now ends with the one who stood before them: so those who came have pushed them
 * behind a limit. Once found, a limit stays one as long as the total does.
 */
export function cappedTotal(
  total: number | undefined,
  { before, after }: { before: Listed; after: Pick<Listed, 'columns'> },
  { seen, records }: Received,
): number | undefined {
  if (total === undefined) return undefined
  if (total === before.order.cappedAt) return total
  if (total !== before.order.total || records.inserted === 0) return undefined
  const { rowIds } = before.columns
  const end = rowIds.findLastIndex((rowId) => seen.has(rowId))
  const isPushedOut = end >= 0 && end < rowIds.length - 1 && after.columns.rowIds.at(-1) === rowIds[end]
  return isPushedOut ? total : undefined
}

/** The certificate of a scan whose list is cut off at `cappedAt`. */
export function judgeCut(certificate: Certificate, cappedAt: number | undefined): Certificate {
  const { reasons } = certificate
  if (cappedAt === undefined) return certificate
  const all = reasons.includes('capped-total') ? reasons : [...reasons, 'capped-total' as const]
  return { ...certificate, proof: 'unproven', isWhole: false, reasons: all }
}
