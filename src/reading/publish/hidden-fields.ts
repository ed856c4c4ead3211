import { z } from 'zod'
import type { Config } from '../../config/read-config.ts'

/** What the configuration hides of each organization that has a privacy policy, as written there, and without its key. */
export const hiddenFields = z.record(
  z.string(),
  z.strictObject({ drop: z.array(z.string()), hash: z.array(z.string()) }),
)
type HiddenFields = z.output<typeof hiddenFields>

/** The same of a configuration; undefined where it hides nothing. */
export function hiddenIn({ organizations }: Pick<Config, 'organizations'>): HiddenFields | undefined {
  const entries = organizations.flatMap(({ id, privacy }): [string, HiddenFields[string]][] =>
    privacy === undefined ? [] : [[id, { drop: [...privacy.drop], hash: [...privacy.hash] }]],
  )
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}
