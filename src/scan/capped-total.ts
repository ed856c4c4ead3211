import type { Findings } from './findings.ts'
import type { Pass } from './pass.ts'

/**
 * Where services stop counting, or serving, by default: search engines count up to 10,000 or 1,000 matches (Elasticsearch,
 * OpenSearch; Algolia, Meilisearch), and services built on them pass that on. Other round numbers are as often the number of
 * customers.
 */
const ROUND_CAPS: ReadonlySet<number> = new Set([1000, 10_000])

/** Whether the total may be a limit of the service, and not the number of its customers. */
export function isRoundCap(total: number): boolean {
  return ROUND_CAPS.has(total)
}

/**
 * Whether the list may go on behind what the service reports: its total stands at a round cap, and the rows end exactly there or go
 * on behind it. A list of so many customers looks the same, in its pages, in its totals, and in the answer behind its last page.
 * Two things show it: a greater total, which a capped service never reports, in this scan; and, in an order by creation, the same
 * customer at the end as when an earlier scan knew where the list ends: a cap takes away the end. In any other order new customers may
 * stand before that one, and another behind it, hidden by the cap.
 */
export function isCapped(pass: Pass, findings: Findings): boolean {
  const { total, greatestTotal, lastKey, order } = findings
  if (!isRoundCap(total) || greatestTotal > total) return false
  if (pass.flaws.has('total-mismatch')) return true
  return pass.complete && (order.end === undefined || order.end !== lastKey || !isByCreation(findings))
}

/** Whether the rows are sorted by creation time. */
function isByCreation({ believed }: Findings): boolean {
  return believed.some(({ dated }) => dated)
}

/** Keeps for the next scan which customer the list ends with, as far as this scan knows it. */
export function rememberEnd(findings: Findings): void {
  const { lastKey, nextOrder } = findings
  const end = typeof lastKey === 'number' && lastKey > 0 ? lastKey : undefined
  findings.nextOrder = { ...nextOrder, end }
}
