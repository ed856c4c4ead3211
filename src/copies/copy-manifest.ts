import { createHash, type Hash } from 'node:crypto'
import { lstatSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type Database from 'better-sqlite3'
import { listOlder, nameToKeep } from './older-files.ts'
import { hasColumns, hasTable, kindOfFile, nowIn } from './open-to-read.ts'
import { isRead, type ReadOrganization, type Recorded, recordedIn } from './organizations.ts'
import type { LeftOut, PublishedCopy, PublishPlan } from './publish-plan.ts'
import { copyTargets } from './target-place.ts'
import { isMissing } from '../machine/folders.ts'
import { organizationColumn, orNull, publicTable, time } from '../model/public-tables.ts'
import { quoted } from '../store/port/sql.ts'
import { connect } from '../store/sqlite/connect.ts'

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

/** Adds the table `manifest`: what the copy holds of each organization, and those that it leaves out. Within the transaction. Returns when. */
export function fillManifest(
  db: Database.Database,
  { recorded, leftOut }: { recorded: Recorded; leftOut: readonly LeftOut[] },
): string {
  const declared = MANIFEST.columns.map(({ name, type, nullable }) => `${name} ${type}${nullable ? '' : ' NOT NULL'}`)
  db.exec(`CREATE TABLE main.manifest (${declared.join(', ')}, PRIMARY KEY (organization))`)
  const publishedAt = nowIn(db)
  const insert = db.prepare(`
    INSERT INTO main.manifest (organization, published_at, left_out, run_id, proof, read_as_of, proven_as_of, last_run_id, last_status,
      customers, active_customers, changes, runs, rejects, last_seq, forgotten)
    VALUES (@organization, @publishedAt, @reason, @run, @proof, @readAsOf, @provenAsOf, @runId, @status,
      @none, @none, @none, @none, @none, @none, @forgotten)`)
  const unread = { run: null, proof: null, readAsOf: null, provenAsOf: null, runId: null, status: null }
  for (const one of recorded.filter(isRead)) insert.run({ ...one, ...one.reading, reason: null, none: 0, publishedAt })
  for (const left of leftOut) {
    const run = recorded.find(({ organization }) => organization === left.organization)
    insert.run({ ...unread, ...run, ...left, none: null, forgotten: null, publishedAt })
  }
  countRows(db)
  const describe =
    db.prepare(`INSERT INTO main.dictionary (table_name, column_name, type, meaning, source, nullable, personal)
    VALUES ('${MANIFEST.name}', @name, @type, @meaning, @source, @nullable, @personal)`)
  for (const { nullable, personal, ...said } of MANIFEST.columns)
    describe.run({ ...said, nullable: Number(nullable), personal: Number(personal) })
  return publishedAt
}

/** Each table is read once, whatever the number of organizations. */
function countRows(db: Database.Database): void {
  const counted = (table: string, counts: Readonly<Record<string, string>>) => {
    if (!hasTable(db, table)) return
    const columns = Object.entries(counts)
    db.exec(`UPDATE main.manifest SET ${columns.map(([name]) => `${name} = found.${name}`).join(', ')}
      FROM (SELECT organization, ${columns.map(([name, sql]) => `${sql} AS ${name}`).join(', ')}
        FROM main.${table} GROUP BY organization) AS found
      WHERE found.organization = manifest.organization AND left_out IS NULL`)
  }
  counted('customers', { customers: 'COUNT(*)', active_customers: 'SUM(removed_at IS NULL)' })
  counted('changes', { changes: 'COUNT(*)', last_seq: 'MAX(seq)' })
  // The last change may be among those that retention has deleted.
  db.exec(`UPDATE main.manifest SET last_seq = max(last_seq, feed_seq) FROM main.horizons
    WHERE horizons.organization = manifest.organization AND left_out IS NULL`)
  counted('runs', { runs: 'COUNT(*)' })
  counted('rejects', { rejects: 'COUNT(*)' })
}

/**
 * Adds a digest of the customers of each organization. `sha256` is the SHA-256 of what the query in `sha256_of` prints, a line
 * for each customer, so that a reader can compare: `sqlite3 customers.db "$query" | sha256sum`.
 */
export function digestRows(db: Database.Database): void {
  const columns = db.prepare<[], string>(`SELECT name FROM pragma_table_info('customers')`).pluck().all()
  const line = `json_array(${columns.map(quoted).join(', ')})`
  const digests = new Map<string, Hash>()
  const rows = db.prepare<[], [string, string]>(`SELECT organization, ${line} FROM customers ORDER BY rowid`).raw()
  for (const [organization, text] of rows.iterate()) {
    let digest = digests.get(organization)
    if (digest === undefined) digests.set(organization, (digest = createHash('sha256')))
    digest.update(`${text}\n`)
  }
  const save = db.prepare(`UPDATE manifest SET sha256 = ?,
    sha256_of = printf('SELECT ${line} FROM customers WHERE organization = %Q ORDER BY rowid', organization)
    WHERE organization = ? AND left_out IS NULL`)
  const organizations = db.prepare<[], string>('SELECT organization FROM manifest').pluck().all()
  for (const organization of organizations)
    save.run((digests.get(organization) ?? createHash('sha256')).digest('hex'), organization)
}

export function organizationsInManifest(db: Database.Database): PublishedCopy['organizations'] {
  return db
    .prepare<[], PublishedCopy['organizations'][number]>(
      `SELECT organization, run_id AS run, proof, read_as_of AS readAsOf, proven_as_of AS provenAsOf, customers,
         active_customers AS active, changes, last_seq AS lastSeq, sha256
       FROM manifest WHERE left_out IS NULL ORDER BY organization`,
    )
    .all()
}

/** What a copy holds of the organizations that were read to their end, as the mirror recorded it then. */
type Copy = { publishedAt: string | undefined; withoutPersonalData: boolean; recorded: ReadOrganization[] }

/** Undefined where it cannot be read. */
function readCopy(file: string): Copy | undefined {
  let db: Database.Database | undefined
  try {
    db = connect(file, { readonly: true, fileMustExist: true })
    return {
      publishedAt: db.prepare<[], string>('SELECT published_at FROM manifest').pluck().get(),
      withoutPersonalData: hasColumns(db, ['email']).length === 0,
      recorded: recordedIn(db).filter(isRead),
    }
  } catch {
    return undefined
  } finally {
    db?.close()
  }
}

/**
 * The name under which the copy is kept that the one at `newPath` is about to replace, with the time at which it was published. Undefined where
 * there is no copy yet, where it is kept already, and where it is replaced without being kept: partial runs alone would push the copies of nights
 * out, and a customer or an organization that the mirror has forgotten since is kept under no other name.
 */
export function nameOfOlderCopy(file: string, newPath: string): string | undefined {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined || !isOlderCopy(file)) return undefined
  const before = readCopy(file)
  const now = before && readCopy(newPath)
  if (now !== undefined) {
    const known = new Map(before?.recorded.map((one) => [one.organization, one]))
    const there = new Map(now.recorded.map((one) => [one.organization, one]))
    const isOfSameNight = now.recorded.every(({ organization, reading }) => {
      return known.get(organization)?.reading.run === reading.run
    })
    const holdsForgotten = [...known].some(([id, { forgotten }]) => (there.get(id)?.forgotten ?? Infinity) > forgotten)
    if (holdsForgotten || (isOfSameNight && !isDeepStrictEqual(before?.recorded, now.recorded))) return undefined
  }
  return nameToKeep(file, before?.publishedAt)
}

export function isOlderCopy(path: string): boolean {
  return kindOfFile(path) === 'copy'
}

export function olderCopies(file: string): string[] {
  return isMissing(dirname(file)) ? [] : listOlder(file).filter(isOlderCopy)
}

/**
 * The files of the copies that hold something else than the mirror records now, are missing or unreadable, of the other kind as to personal data,
 * or without a digest of their own.
 */
export function staleCopies(plan: PublishPlan, recorded: Recorded): string[] {
  const read = recorded.filter(isRead)
  const names = read.map(({ organization }) => organization)
  const stale = copyTargets(plan, names).filter(({ file, organization }) => {
    const wanted = read.filter((one) => organization === undefined || one.organization === organization)
    const copy = readCopy(file)
    const isOfKind = copy?.withoutPersonalData === plan.withoutPersonalData
    return !isOfKind || lacksDigest(file) || !isDeepStrictEqual(sorted(copy?.recorded ?? []), sorted(wanted))
  })
  return stale.map(({ file }) => file)
}

/** A server has an order of its own. */
function sorted(organizations: readonly ReadOrganization[]): ReadOrganization[] {
  return organizations.toSorted((one, other) => (one.organization < other.organization ? -1 : 1))
}

/**
 * Whether the digest beside a copy is missing, or of the copy from before, since a publish ended between the two. It is made after its
 * copy; to compare it would take as long as reading all of that.
 */
function lacksDigest(file: string): boolean {
  const digest = statSync(`${file}.sha256`, { bigint: true, throwIfNoEntry: false })
  const copy = statSync(file, { bigint: true, throwIfNoEntry: false })
  return copy !== undefined && (digest === undefined || digest.mtimeNs < copy.mtimeNs)
}
