import { lstatSync, readFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { ORGANIZATION_ID } from '../../config/organization-id.ts'
import { UsageError } from '../../errors/errors.ts'
import type { PublishPlan } from './publish-plan.ts'
import { kindOfFile } from '../file-kind.ts'
import { refused, requireNoJournals, requirePlace } from '../files/target-place.ts'

/** A copy to be made: of all organizations, or of one. */
export type CopyTarget = { file: string; organization: string | undefined; group: string | number | undefined }

/** What is replaced by the id of an organization in a file name or a group. */
const PLACEHOLDER = '{organization}'

/** The copies of a plan, for the organizations that may be published. */
export function copyTargets(
  { file, group, splitByOrganization }: Pick<PublishPlan, 'file' | 'group' | 'splitByOrganization'>,
  organizations: readonly string[],
): CopyTarget[] {
  if (!splitByOrganization) return [{ file, group, organization: undefined }]
  const ending = extname(file)
  const pattern = file.includes(PLACEHOLDER)
    ? file
    : join(dirname(file), `${basename(file, ending)}-${PLACEHOLDER}${ending}`)
  return organizations.map((organization) => {
    // The configuration allows no other names; a mirror that was edited by hand may hold any.
    if (!ORGANIZATION_ID.test(organization))
      throw new UsageError(
        'The mirror holds an organization whose name is no file name, so it gets no copy of its own. Give it another id with ' +
          "'customer-mirror organizations rename', or leave splitBy out of the configuration.",
      )
    return {
      file: pattern.replaceAll(PLACEHOLDER, organization),
      organization,
      group: typeof group === 'string' ? group.replaceAll(PLACEHOLDER, organization) : group,
    }
  })
}

/** Throws UsageError unless `file` is free, or a copy made by this program. */
export function requireReplaceable(file: string, mirror: string): void {
  requirePlace(file, mirror, {
    example: 'readers.db',
    ofMirror: 'is the mirror itself, which readers must not open; name another file in a folder of its own',
  })
  const kind = lstatSync(file, { throwIfNoEntry: false }) && kindOfFile(file)
  if (kind === 'mirror') throw refused(file, 'is a mirror, not a copy of one; name another file')
  if (kind === 'foreign')
    throw refused(file, 'was not published by this program. It was left as it is; name another file')
  requireNoJournals(file, 'readers')
  requireOwnDigest(`${file}.sha256`)
}

/** The digest of a copy is written beside it. */
function requireOwnDigest(file: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined) return
  if (found.isFile() && found.size < 1024 && /^[0-9a-f]{64} {2}[^\n]+\n$/.test(readFileSync(file, 'utf8'))) return
  throw refused(file, 'is where the digest of the copy goes, and holds something else; move it away')
}
