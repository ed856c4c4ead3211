import { lstatSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { ifReadable, isOlderCopy, nameToKeep } from './older-files.ts'
import { isRead, type ReadOrganization, type Recorded, recordedIn } from './organizations.ts'
import type { PublishPlan } from './publish-plan.ts'
import { copyTargets } from './target-place.ts'
import { organizationColumn, orNull, publicTable, time } from '../model/public-tables.ts'
import { numberIn } from '../store/sqlite/open-to-read.ts'

/** The table `manifest`, which only a copy has. Rows of an organization that is left out are not counted. */
export const MANIFEST = publicTable(
  'manifest',
  'what a copy for readers holds of each organization; the mirror itself has no such table',
  {
    organization: organizationColumn,
    published_at: time('when the copy was made, UTC'),
    left_out: orNull.text('why its rows are not in the copy: never-read; NULL when they are'),
    run_id: orNull.number('last run that read the list to its end, as runs.id; NULL if none'),
    proof: orNull.text('what that run proved: proven, settled or unproven; NULL if none'),
    read_as_of: orNull.time('start of that run, UTC; NULL if none'),
    proven_as_of: orNull.time('start of the last run whose scan is proven or settled, UTC; NULL if none'),
    last_run_id: orNull.number('latest run, but for partial runs that found nothing, as runs.id; NULL if none'),
    last_status: orNull.text('status of that run, running if it was under way; NULL if none'),
    customers: orNull.number('rows of customers; NULL when left out'),
    active_customers: orNull.number('rows of active_customers; NULL when left out'),
    changes: orNull.number('rows of changes; NULL when left out'),
    runs: orNull.number('rows of runs; NULL when left out'),
    rejects: orNull.number('rows of rejects, 0 in a copy without personal data; NULL when left out'),
    last_seq: orNull.number('highest changes.seq, 0 if there are no changes; NULL when left out'),
    forgotten: orNull.number('number of the customer who was forgotten last, 0 if none was; NULL when left out'),
    sha256: orNull.text('SHA-256 of the lines that the query in sha256_of prints; NULL when left out'),
    sha256_of: orNull.text('query that prints every customer of the organization as a JSON array; NULL when left out'),
  },
)

/** The organizations that were read to their end, in no order: a server has one of its own. */
function byId(recorded: Recorded): ReadonlyMap<string, ReadOrganization> {
  return new Map(recorded.filter(isRead).map((one) => [one.organization, one]))
}

const HAS_EMAIL = `SELECT COUNT(*) FROM pragma_table_info('customers') WHERE name = 'email'`

/** What a copy says of itself, and what the mirror recorded when it was made; undefined where it cannot be read. */
function readCopy(file: string) {
  return ifReadable(file, (db) => ({
    publishedAt: db.prepare<[], string>('SELECT published_at FROM manifest').pluck().get(),
    withoutPersonalData: numberIn(db, HAS_EMAIL) === 0,
    recorded: byId(recordedIn(db)),
  }))
}

/** The name under which the copy is kept that the one at `newPath` replaces, by the time of its publish; undefined where it is not. */
export function nameOfOlderCopy(file: string, newPath: string): string | undefined {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined || !isOlderCopy(file)) return undefined
  const [before, now] = [readCopy(file), readCopy(newPath)]
  if (before !== undefined && now !== undefined) {
    const [earlier, later] = [before.recorded, now.recorded]
    const holdsForgotten = earlier
      .values()
      .some((one) => (later.get(one.organization)?.forgotten ?? Infinity) > one.forgotten)
    const isOfSameRuns = later.values().every((one) => one.run === earlier.get(one.organization)?.run)
    // After partial runs alone it is not kept either: they would push the copies of nights out.
    if (holdsForgotten || (isOfSameRuns && !isDeepStrictEqual(earlier, later))) return undefined
  }
  return nameToKeep(file, before?.publishedAt)
}

/** The copies that differ from what the mirror records now, are missing or unreadable, or of the other kind as to personal data. */
export function staleCopies(plan: PublishPlan, recorded: Recorded): string[] {
  const names = [...byId(recorded).keys()]
  const stale = copyTargets(plan, names).filter(({ file, organization }) => {
    const wanted = recorded.filter((one) => organization === undefined || one.organization === organization)
    const copy = readCopy(file)
    const isOfKind = copy?.withoutPersonalData === plan.withoutPersonalData
    return !isOfKind || !isDeepStrictEqual(copy.recorded, byId(wanted))
  })
  return stale.map(({ file }) => file)
}
