import * as z from 'zod'
import { parsedJson } from '../text/parsed-json.ts'

/** What is known of the order of a list from the runs before. A key that is absent is unknown. */
export type OrderFacts = z.output<typeof factsSchema>

const factsSchema = z.object({
  /** How many customers the service said that there are. */
  total: z.int().min(0).optional().catch(undefined),
  /** The total at which the service stops counting; undefined while none is known. */
  cappedAt: z.int().min(0).optional().catch(undefined),
})

/** The facts in a stored text. What cannot be read, or has no meaning for this program, is unknown. */
export function readOrderFacts(text: string | null): OrderFacts {
  return factsSchema.safeParse(parsedJson(text ?? '')).data ?? {}
}
