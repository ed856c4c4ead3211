import { didYouMean } from '../../config/checks/suggestion.ts'
import { UsageError } from '../../errors/errors.ts'
import { listedNames } from '../../listed-names.ts'
import type { UnknownOrganization } from '../../reading/organizations/mirrored-in.ts'
import { plainText } from '../output/plain-text.ts'

/** For an organization that neither the configuration nor the file that is read knows. */
export function unknownOrganization(
  { organization, known }: UnknownOrganization,
  configured: readonly string[],
): UsageError {
  const ids = [...new Set([...configured, ...known.map(plainText)])]
  const alone = ids.slice(new Set(configured).size)
  const places =
    configured.length === 0
      ? [`the file has ${listedNames(alone)}`]
      : [
          `the configuration has ${listedNames(configured)}`,
          ...(alone.length > 0 ? [`the mirror also has ${listedNames(alone)}`] : []),
        ]
  return new UsageError(`unknown organization "${organization}"${didYouMean(organization, ids)}: ${places.join('; ')}`)
}
