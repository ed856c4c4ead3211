import { stat } from 'node:fs/promises'
import type { Organization } from '../organization.ts'

/** A file with a key or a secret that every user of this machine may read or write. */
export type ExposedSecret = { file: string; what: 'API key' | 'secret' | 'privacy key'; mode: string; isOwn: boolean }

/** The files of an organization's keys and secret that are open to every user. Missing files are not reported here. */
export async function exposedSecrets({
  apiKey,
  secret,
  privacy,
}: Pick<Organization, 'apiKey' | 'secret' | 'privacy'>): Promise<ExposedSecret[]> {
  const files = [
    { what: 'API key', reference: apiKey },
    { what: 'secret', reference: secret },
    ...(privacy?.key === undefined ? [] : [{ what: 'privacy key', reference: privacy.key } as const]),
  ] as const
  const found = await Promise.all(
    files.map(async ({ what, reference }) => {
      if (!('file' in reference)) return []
      const { file } = reference
      const stats = await stat(file).catch(() => undefined)
      if (stats === undefined || !stats.isFile() || (stats.mode & EVERY_USER) === 0) return []
      const user = process.getuid?.()
      const isOwn = user === 0 || user === stats.uid
      return [{ file, what, mode: (stats.mode & 0o777).toString(8).padStart(3, '0'), isOwn }]
    }),
  )
  return found.flat()
}

/** The permissions of users who neither own a file nor belong to its group. The group may read: Kubernetes mounts secrets so. */
const EVERY_USER = process.platform === 'win32' ? 0 : 0o007
