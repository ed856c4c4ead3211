import type { Logger } from '../../log.ts'
import type { Published } from './publish-plan.ts'

/** What was published and what was not, in one line each: paths, ids and counts. */
export function logPublished(log: Logger, { copies, leftOut, failed, warnings }: Published): void {
  for (const { file, bytes, sha256, organizations } of copies) {
    const customers = organizations.reduce((sum, organization) => sum + organization.customers, 0)
    log.info({ file, bytes, sha256, organizations: organizations.length, customers }, 'copy published')
  }
  if (leftOut.length > 0) log.warn({ leftOut }, 'organizations left out of the copy')
  for (const failure of failed) log.error({ failure }, 'copy not published')
  for (const warning of warnings) log.warn({ warning }, 'copy cannot be reached')
}
