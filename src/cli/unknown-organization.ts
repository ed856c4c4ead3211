import { didYouMean } from '../config/suggestion.ts'
import { UsageError } from '../errors.ts'
import { plainText } from './output/plain-text.ts'

/** For an organization that neither the configuration nor the file that is read knows. */
export function unknownOrganization(
  { organization, known }: { organization: string; known: readonly string[] },
  configured: readonly string[],
): UsageError {
  const ids = [...new Set([...configured, ...known.map(plainText)])]
  const place = configured.length > 0 ? 'the configuration' : 'the file'
  const listed = ids.slice(0, LISTED).join(', ') + (ids.length > LISTED ? ', …' : '')
  return new UsageError(
    `unknown organization "${organization}"${didYouMean(organization, ids)}: ${place} has ${listed}`,
  )
}

const LISTED = 20
