import { z } from 'zod'
import type { Report } from '../service.ts'

const document = z.object({ data: z.object({ dueAt: z.string() }) })

/** Nights that were reported more than once as if they were several. Repeats have the same id, unless the queue was emptied meanwhile. */
export function reportsOfNights(reports: readonly Report[], forgotten: number): string[] {
  if (reports.length === 0) return ['no night was reported']
  const nights = Map.groupBy(reports, ({ body }) => document.parse(JSON.parse(body)).data.dueAt)
  return [...nights].flatMap(([dueAt, each]) => {
    const ids = new Set(each.map(({ id }) => id)).size
    return ids <= 1 + forgotten ? [] : [`the night of ${dueAt} was reported under ${ids} ids`]
  })
}
