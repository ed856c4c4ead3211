import { duration, grouped } from './wording.ts'

/** The progress of a run in reading the list, and its duration by the monotonic clock. */
export type ReadingSoFar = {
  customers: number
  readBefore: number
  total: number | undefined
  pages: number
  elapsedMs: number
}

/** Earlier than this, a rate is not meaningful. */
const SHORTEST_ELAPSED_MS = 1000

/**
 * The progress of a run in one line: customers read and their total, the share, the rate and the time left. `short` takes
 * fewer columns.
 */
export function readingWords(reading: ReadingSoFar, { short = false } = {}): string {
  const { customers, readBefore, total } = reading
  const read = readBefore + customers
  const parts = [countWords(reading, short)]
  if (total !== undefined && total > 0) parts.push(`${percentOf(read, total)} %`)
  if (total !== undefined && read >= total && total > 0) parts.push(`page ${number(reading.pages)}, making sure`)
  else parts.push(...paceWords(reading))
  return parts.join(' · ')
}

function countWords({ customers, readBefore, total }: ReadingSoFar, short: boolean): string {
  const read = number(readBefore + customers)
  const of = total === undefined ? '' : short ? `/${number(total)}` : ` of ${number(total)}`
  if (readBefore === 0) return short ? `${read}${of}` : `${read}${of} customers`
  return short ? `resumed, ${read}${of}` : `resumed, ${read}${of} customers (${number(readBefore)} read before)`
}

/** Rounded down, so that 100 means everything is read. */
function percentOf(read: number, total: number): number {
  return Math.min(100, Math.floor((read / total) * 100))
}

/** The rate counts only customers read by this run, not by the run it continues. */
function paceWords({ customers, readBefore, total, elapsedMs }: ReadingSoFar): string[] {
  if (customers === 0 || elapsedMs < SHORTEST_ELAPSED_MS) return []
  const perSecond = (customers / elapsedMs) * 1000
  const rate = perSecond >= 10 ? `${number(perSecond)}/s` : `${number(perSecond * 60)}/min`
  if (total === undefined) return [rate]
  const leftMs = Math.ceil((total - readBefore - customers) / perSecond) * 1000
  return [rate, `${duration(Math.max(1000, leftMs)).replace('.0', '')} left`]
}

function number(value: number): string {
  return grouped(Math.round(value))
}
