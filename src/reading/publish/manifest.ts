import Database from 'better-sqlite3'
import { connect } from '../../store/sqlite/connect.ts'
import { quoted } from '../../store/port/sql.ts'
import { hasTable } from '../has-table.ts'
import { createHash, type Hash } from 'node:crypto'
import { MANIFEST } from './manifest-columns.ts'
import type { LeftOut, PublishedCopy } from './publish-plan.ts'
import { forgottenLast, lastReading } from './recorded-runs.ts'
import { nowIn } from '../now-in.ts'

/** Adds the table `manifest`: what the copy holds of each organization, and those that it leaves out. Within the transaction. */
export function fillManifest(db: Database.Database, leftOut: readonly LeftOut[]): { publishedAt: string } {
  const declared = MANIFEST.columns.map(({ name, type, nullable }) => `${name} ${type}${nullable ? '' : ' NOT NULL'}`)
  db.exec(`CREATE TABLE main.manifest (${declared.join(', ')}, PRIMARY KEY (organization))`)
  const publishedAt = nowIn(db)
  db.prepare(READ_ORGANIZATIONS).run(publishedAt)
  const addLeftOut = db.prepare(
    `INSERT INTO main.manifest (organization, published_at, left_out, last_run_id, last_status)
     VALUES (@organization, @publishedAt, @reason,
       (SELECT MAX(id) FROM mirror.runs WHERE organization = @organization),
       (SELECT status FROM mirror.runs WHERE organization = @organization ORDER BY id DESC LIMIT 1))`,
  )
  for (const left of leftOut) addLeftOut.run({ ...left, publishedAt })
  countRows(db)
  if (hasTable(db, 'dictionary')) describe(db)
  return { publishedAt }
}

const READ_ORGANIZATIONS = `
  INSERT INTO main.manifest (organization, published_at, run_id, proof, read_as_of, proven_as_of, last_run_id, last_status,
    customers, active_customers, changes, runs, rejects, last_seq, forgotten)
  SELECT fresh.organization, ?, run.id, run.proof, fresh.read_as_of, proven_as_of, last_run_id, last_status, 0, 0, 0, 0, 0, 0,
    ${forgottenLast('mirror.forgotten', 'fresh.organization')}
  FROM main.freshness_as_published AS fresh
  JOIN mirror.runs AS run ON run.id = ${lastReading('mirror.runs')}`

function describe(db: Database.Database): void {
  const insert = db.prepare(`INSERT INTO main.dictionary ("table", "column", type, meaning, source, nullable, personal)
    VALUES (@table, @column, @type, @meaning, @source, @nullable, @personal)`)
  for (const { name, nullable, personal, ...said } of MANIFEST.columns)
    insert.run({ table: MANIFEST.name, column: name, ...said, nullable: Number(nullable), personal: Number(personal) })
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

/** What the manifest says of the organizations that are in the copy. */
export function organizationsInManifest(db: Database.Database): PublishedCopy['organizations'] {
  return db
    .prepare<[], PublishedCopy['organizations'][number]>(
      `SELECT organization, run_id AS run, proof, read_as_of AS readAsOf, proven_as_of AS provenAsOf, customers,
         active_customers AS active, changes, last_seq AS lastSeq, sha256
       FROM manifest WHERE left_out IS NULL ORDER BY organization`,
    )
    .all()
}

/** What a copy says of itself; undefined where it cannot be read, or is of no organization. */
export function readManifest(file: string): Manifest | undefined {
  let db: Database.Database | undefined
  try {
    db = connect(file, { readonly: true, fileMustExist: true })
    const rows = db.prepare<[], ManifestRow>(READ_MANIFEST).all()
    const [first] = rows
    if (first === undefined) return undefined
    return {
      publishedAt: first.published_at,
      withoutPersonalData:
        db.prepare(`SELECT 1 FROM pragma_table_info('customers') WHERE name = 'email'`).get() === undefined,
      lastRuns: new Map(rows.map(({ organization, ...found }) => [organization, found])),
    }
  } catch {
    return undefined
  } finally {
    db?.close()
  }
}

const READ_MANIFEST = `
  SELECT manifest.organization, published_at, run_id AS "readBy", manifest.last_run_id AS "runId", manifest.last_status AS status,
    started_at AS "startedAt", forgotten, retired_at AS "retiredAt"
  FROM manifest LEFT JOIN freshness_as_published AS fresh ON fresh.organization = manifest.organization
    LEFT JOIN runs ON runs.id = manifest.last_run_id`

export type Manifest = {
  publishedAt: string
  withoutPersonalData: boolean
  lastRuns: Map<string, InCopy>
}

/** What a copy has of an organization: the latest run, `running` where it was under way; null where it had none. `readBy` read the whole list. */
export type InCopy = {
  runId: number | null
  /** Null where the run is in no row of the copy. */
  startedAt: string | null
  status: string | null
  readBy: number | null
  /** Null where none of its rows are in the copy. */
  forgotten: number | null
  retiredAt: string | null
}

type ManifestRow = InCopy & { organization: string; published_at: string }
