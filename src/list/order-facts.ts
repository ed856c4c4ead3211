import * as z from 'zod'
import { parsedJson } from '../parsed-json.ts'

const fieldNames = z.array(z.string().max(100)).max(100)

/** What is known of the order of a list from the runs before. A key that is absent is unknown. */
export type OrderFacts = z.output<typeof factsSchema>

const factsSchema = z.object({
  /** How many rows neighbouring windows usually have to share. */
  overlap: z.int().min(1).max(100).optional().catch(undefined),
  /** `last-change`: rows that change move to the top. */
  direction: z.literal('last-change').optional().catch(undefined),
  /** Over how many complete runs, up to the last one, no customer has changed places with another. */
  still: z.int().min(0).optional().catch(undefined),
  /** The row number of the customer at the end of the list, as of the last run that knew where the list ends. */
  end: z.int().min(1).optional().catch(undefined),
  /** Which fields the rows are not sorted by, and which they may be sorted by, apart from id and created_at. */
  fields: z.object({ ruledOut: fieldNames, left: fieldNames }).optional().catch(undefined),
})

/** The facts in a stored text. What cannot be read, or has no meaning for this program, is unknown. */
export function readOrderFacts(text: string | null): OrderFacts {
  return factsSchema.safeParse(parsedJson(text ?? '')).data ?? {}
}
