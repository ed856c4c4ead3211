import { ConfigError } from '../errors/errors.ts'
import type { Recipe } from '../signing/signing.ts'
import { apiKeyAtHand, readCredentials } from './credentials.ts'
import type { Organization } from './organization.ts'
import type { serveSettings } from './serve.ts'

/** A program that may read, with its credentials. */
export type Reader = {
  name: string
  organizations: readonly string[]
  apiKey: string
  secret: string
  recipe: Recipe
  requestsPerMinute?: number | undefined
}

type Configured = {
  file: string
  serve: ReturnType<typeof serveSettings>
  organizations: readonly Organization[]
}

/**
 * Looks up the keys and secrets of the readers. Their requests are signed as those to the service are. Throws ConfigError for a key that cannot
 * be read, or that opens something else too, and for organizations that are not there or that are signed for in different ways.
 */
export async function readReaders({ file, serve: readers = [], organizations }: Configured): Promise<Reader[]> {
  const refuse = (path: string, message: string) => new ConfigError([{ file, path, message }])
  if (readers.length === 0)
    throw refuse('serve.readers', 'names no reader: each has a name, organizations, apiKey and secret')
  const taken = new Map<string, string>()
  for (const organization of organizations) {
    const known = await apiKeyAtHand(organization)
    if (known !== undefined) taken.set(known, `organization ${organization.id}`)
  }
  const found: Reader[] = []
  for (const reader of readers) {
    if (found.some(({ name }) => name === reader.name)) throw refuse('serve.readers', `names ${reader.name} twice`)
    const read = reader.organizations.map((id) => organizations.find((organization) => organization.id === id))
    const [first] = read
    if (first === undefined || read.includes(undefined))
      throw refuse(`serve.readers (${reader.name})`, 'names an organization that is not configured')
    const { signing } = first
    if (read.some((other) => JSON.stringify(other?.signing) !== JSON.stringify(signing)))
      throw refuse(
        `serve.readers (${reader.name})`,
        'names organizations whose requests are signed differently: make it two readers',
      )
    const credentials = await readCredentials({ ...reader, id: reader.name, title: `reader ${reader.name}`, signing })
    const other = taken.get(credentials.apiKey)
    if (other !== undefined)
      throw refuse(`serve.readers (${reader.name})`, `has the API key of ${other}: each key opens one thing`)
    taken.set(credentials.apiKey, `reader ${reader.name}`)
    const { name, organizations: ids, requestsPerMinute } = reader
    found.push({ ...credentials, name, organizations: ids, recipe: signing, requestsPerMinute })
  }
  return found
}
