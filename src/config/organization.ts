import { privacySettings } from './privacy.ts'
import { mergeSchedule } from './schedule.ts'
import { BUILT_IN, mergeRetention, type ConfigFile } from './schema.ts'
import { recipe } from './signing.ts'
import { requireKnown } from './suggestion.ts'
import { secretReference } from './values.ts'

/** One organization to mirror, with every setting filled in. */
export type Organization = ReturnType<typeof mergeOrganization> & {
  /** When a worker first found it in its configuration, in Unix milliseconds; undefined where no worker did. */
  seenAtMs?: number | undefined
}

/** An organization of a configuration: its own settings, then `defaults`, then the built-in ones. */
export function mergeOrganization(own: ConfigFile['organizations'][number], file: ConfigFile, folder: string) {
  const shared = file.defaults ?? {}
  const settings = { ...BUILT_IN, ...shared, ...own }
  return {
    id: own.id,
    /** Without a slash at the end; `/customers` goes after it. */
    baseUrl: own.baseUrl,
    apiKey: secretReference(own.apiKey, folder),
    secret: secretReference(own.secret, folder),
    pageSize: settings.pageSize,
    concurrency: settings.concurrency,
    requestTimeoutMs: settings.requestTimeout,
    maxWaitMs: settings.maxWait,
    maxRunMs: BUILT_IN.maxRun,
    resumeWithinMs: BUILT_IN.resumeWithin,
    scan: settings.scan,
    removals: { ...BUILT_IN.removals, ...shared.removals, ...own.removals },
    retention: mergeRetention(shared.retention, own.retention),
    rateLimit: { ...shared.rateLimit, ...own.rateLimit },
    signing: recipe(own.signing ?? {}, shared.signing ?? {}),
    /** Undefined where every field is stored as sent. */
    privacy: privacySettings(own.privacy, shared.privacy, folder),
    schedule: mergeSchedule(file.schedule, own.schedule),
  }
}

/** The organizations with these ids, in this order; all of them when none is named. Throws UsageError for an unknown id. */
export function chooseOrganizations(config: { organizations: readonly Organization[] }, ids: readonly string[]) {
  const { organizations } = config
  if (ids.length === 0) return [...organizations]
  const known = organizations.map(({ id }) => id)
  requireKnown(ids, known)
  return [...new Set(ids)].flatMap((id) => organizations.filter((organization) => organization.id === id))
}

/** The ids of the named organizations; none where none is named. Throws UsageError for an unknown id. */
export function chooseIds(config: Parameters<typeof chooseOrganizations>[0], ids: readonly string[]): string[] {
  return ids.length === 0 ? [] : chooseOrganizations(config, ids).map(({ id }) => id)
}
