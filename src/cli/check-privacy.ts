import { existsSync } from 'node:fs'
import { readPrivacy } from '../config/credentials.ts'
import type { Organization } from '../config/organization.ts'
import { isOurs } from '../errors.ts'
import { openMirrorToRead } from '../mirror/mirror.ts'
import type { Finding } from './check-everything.ts'
import { explainFailure } from './output/explain-failure.ts'

/** What an organization hides, whether its key can be read, and whether older values are still stored. */
export async function* checkPrivacy(organization: Organization, mirror: string): AsyncGenerator<Finding> {
  const what = `privacy of ${organization.id}`
  if (organization.privacy !== undefined) yield await checkPolicy(organization, what)
  const left = await unapplied(organization, mirror)
  const sync = `customer-mirror sync ${organization.id}`
  if (left === 'values') {
    yield { what, said: 'the stored values do not follow the policy yet', fix: sync, isWarning: true }
  } else if (left === 'free space') {
    const said = `values from before the policy may still stand in free space of ${mirror}`
    yield { what, said, fix: `close the programs that read it, free some space, then ${sync}`, isWarning: true }
  }
}

async function checkPolicy(organization: Organization, what: string): Promise<Finding> {
  const { drop = [], hash = [] } = organization.privacy ?? {}
  try {
    await readPrivacy(organization)
    const parts = [drop.length > 0 && `drops ${drop.join(', ')}`, hash.length > 0 && `hashes ${hash.join(', ')}`]
    return { what, said: parts.filter((part) => part !== false).join('; ') }
  } catch (error) {
    if (!isOurs(error)) throw error
    return { what, said: error.message, error, fix: explainFailure(error).fix }
  }
}

/** Undefined as well where the mirror cannot be read, which is a finding of its own. */
async function unapplied({ id }: Organization, file: string): Promise<'values' | 'free space' | undefined> {
  if (!existsSync(file)) return undefined
  try {
    const mirror = await openMirrorToRead(file)
    try {
      return (await mirror.listUnappliedPrivacy()).find(({ organization }) => organization === id)?.left
    } finally {
      await mirror.close()
    }
  } catch (error) {
    if (isOurs(error)) return undefined
    throw error
  }
}
