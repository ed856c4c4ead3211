import { resolve } from 'node:path'
import { z } from 'zod'
import { path } from './path.ts'

/** A copy for readers, as configured. The path is absolute, and may hold `{organization}`. */
export type PublishSettings = {
  file: string
  group: string | number | undefined
  keep: number | undefined
  splitBy: 'organization' | undefined
  withoutPersonalData: boolean
}

const ORGANIZATION = '{organization}'

const file = path
  .refine((text) => !/[/\\]$/.test(text), 'must name a file, such as ./copies/customers.db, and not a folder')
  .refine(hasKnownPlaceholders, `may hold ${ORGANIZATION}, and no other name in braces`)

const GROUP = 'must be the name or the number of a group, such as analysts or 1005'

const group = z.union(
  [
    z
      .int(GROUP)
      .min(0, GROUP)
      .max(2 ** 32 - 2, GROUP),
    z
      .string()
      .regex(/^(?!-)[^\s:,/]{1,64}$/, GROUP)
      .refine(hasKnownPlaceholders, `may hold ${ORGANIZATION}, and no other name in braces`),
  ],
  GROUP,
)

const MOST_KEPT = 1000
const KEPT = `must be a whole number from 0 to ${MOST_KEPT}`

/** The copy for readers, in the configuration. */
export const publish = z
  .strictObject({
    file: file.meta({
      description: 'The copy; relative to the folder of this configuration. In a folder of its own.',
      examples: ['./copies/customers.db', '/srv/copies/{organization}/customers.db'],
    }),
    group: group.exactOptional().meta({
      description: 'The group whose members may read the copy. With splitBy its name may hold {organization}.',
      examples: ['analysts'],
    }),
    keep: z
      .int(KEPT)
      .min(0, KEPT)
      .max(MOST_KEPT, KEPT)
      .exactOptional()
      .meta({
        description: 'How many older copies are kept beside it, each named by its time; others are removed.',
        examples: [7],
      }),
    splitBy: z.enum(['organization']).exactOptional().meta({
      description: 'A copy for each organization, with its own rows and nothing else.',
    }),
    withoutPersonalData: z.boolean('must be true or false').exactOptional().meta({
      description: 'Leaves personal data out, and lets every user of the machine read the copy.',
      default: false,
    }),
  })
  .superRefine(({ file: place, group: owner, splitBy }, context) => {
    if (splitBy !== undefined) return
    const message = `holds ${ORGANIZATION}, which needs splitBy: organization`
    if (place.includes(ORGANIZATION)) context.addIssue({ code: 'custom', path: ['file'], message })
    if (typeof owner === 'string' && owner.includes(ORGANIZATION))
      context.addIssue({ code: 'custom', path: ['group'], message })
  })

/** The settings with absolute paths; undefined where nothing is to be published. */
export function publishSettings(
  written: z.output<typeof publish> | undefined,
  folder: string,
): PublishSettings | undefined {
  if (written === undefined) return undefined
  const { keep, splitBy, withoutPersonalData = false } = written
  return { file: resolve(folder, written.file), group: written.group, keep, splitBy, withoutPersonalData }
}

function hasKnownPlaceholders(text: string): boolean {
  return !/[{}]/.test(text.replaceAll(ORGANIZATION, ''))
}
