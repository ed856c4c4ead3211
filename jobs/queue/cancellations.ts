import { z } from 'zod'
import { listParsed, parseValue, type SharedValues } from './shared-values.ts'

/**
 * A person cancelled an organization: these jobs end with their runs, and no run is made up for a due time until then. Jobs have
 * names of their own, so a cancel never ends a later run.
 */
export type Cancellation = {
  jobs: readonly string[]
  /** Unix milliseconds. */
  askedAtMs: number
  untilMs: number
}

const cancellation = z.object({
  jobs: z.array(z.string()).readonly(),
  askedAtMs: z.number(),
  untilMs: z.number(),
})

/** All that are kept, by organization. `onUnreadable` gets the name of each that cannot be read. */
export async function listCancellations(
  values: Pick<SharedValues, 'list'>,
  onUnreadable?: (name: string) => void,
): Promise<Map<string, Cancellation>> {
  return listParsed(values, PREFIX, (text) => parseValue(cancellation, text), onUnreadable)
}

export async function writeCancellation(
  values: Pick<SharedValues, 'write'>,
  organization: string,
  asked: Cancellation,
): Promise<void> {
  await values.write(PREFIX + organization, JSON.stringify(asked))
}

export async function deleteCancellation(values: Pick<SharedValues, 'delete'>, organization: string): Promise<void> {
  await values.delete(PREFIX + organization)
}

const PREFIX = 'cancel:'
