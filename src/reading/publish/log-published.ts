import type { Logger } from '../../log.ts'
import type { Published } from './publish-plan.ts'

/** What was published and what was not, in one line each: paths, ids and counts. */
export function logPublished(log: Logger, { copies, leftOut, failed, warnings, bucket }: Published): void {
  for (const { file, bytes, sha256, organizations } of copies) {
    const customers = organizations.reduce((sum, organization) => sum + organization.customers, 0)
    log.info({ file, bytes, sha256, organizations: organizations.length, customers }, 'copy published')
  }
  if (bucket?.isNew === true) {
    const { to, generation, gone, replaced } = bucket
    const objects = bucket.organizations.filter(({ isNew }) => isNew)
    const bytes = objects.reduce((sum, object) => sum + object.bytes, 0)
    const facts = {
      to,
      generation,
      objects: objects.length,
      bytes,
      organizations: bucket.organizations.length,
      gone,
      replaced,
    }
    log.info(facts, 'bucket published')
  }
  if (leftOut.length > 0) log.warn({ leftOut }, 'organizations left out of the copy')
  for (const failure of failed) log.error({ failure }, 'copy not published')
  for (const warning of warnings) log.warn({ warning }, 'copy cannot be reached')
}
