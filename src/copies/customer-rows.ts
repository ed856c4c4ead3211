import { createHash } from 'node:crypto'
import { publicColumns } from '../public-tables.ts'
import { quoted } from '../store/port/sql.ts'
import type { Connection } from '../store/sqlite/connect.ts'
import { isoOf } from '../time/iso-time.ts'
import type { ExportColumn, ExportedOrganization, ExportRow, Sink } from './format.ts'
import { inMirrorFile, nowIn, openToRead } from './open-to-read.ts'
import { lastReading, recordedRunsIn } from './organizations.ts'
import { parquetColumn, parquetFormat } from './parquet.ts'
import type { TargetPlan } from './publish-plan.ts'

/** An organization whose list was read to its end at least once, as the mirror has it. Times are UTC, as in the mirror. */
export type ReadOrganization = ExportedOrganization & {
  /** The latest run that changed anything, `running` while it is under way. */
  lastRun: number
  lastStatus: string
  /** The number of the customer who was forgotten last; 0 where there is none. */
  forgotten: number
}

/** The rows of one organization at one moment. */
export type OrganizationRows = { rows: number; active: number; state: string }

/** What is read of a mirror to fill a folder or a bucket. Throws MirrorUnusable for a mirror that cannot be read. */
export type RowsReader = {
  /** In order, those that are retired included. */
  organizations(): ReadOrganization[]
  /** Whether the mirror has a run, by its number and when it began, whatever its organization is called now. */
  hasRun(run: { run: number; read_as_of: string }): boolean
  /** What its rows are, by counting them. */
  look(organization: string): OrganizationRows
  /** Runs `work` on one state of the mirror. */
  atOnce<Result>(work: () => Promise<Result>): Promise<Result>
  /** Writes the customers of an organization as Parquet. */
  write(organization: ReadOrganization, to: Sink): Promise<OrganizationRows>
  /** The time of this machine, in the mirror's form. */
  now(): string
  close(): void
}

/** Rows are read and written one row group after the other, so memory is bounded, whatever the size of an organization. */
export function openRowsReader({
  mirror,
  withoutPersonalData,
}: Pick<TargetPlan, 'mirror' | 'withoutPersonalData'>): RowsReader {
  const opened = openToRead(mirror)
  const { db } = opened
  const columns = columnsOf(withoutPersonalData)
  const look = (organization: string) => lookAt(db, organization, columns)
  return {
    organizations: () => readOrganizations(db, mirror),
    hasRun: ({ run, read_as_of: readAsOf }) => {
      const began = db.prepare<[number], string>('SELECT read_as_of FROM runs WHERE id = ?').pluck().get(run)
      return began !== undefined && isoOf(began) === readAsOf
    },
    look,
    now: () => nowIn(db),
    async atOnce(work) {
      db.exec('BEGIN')
      try {
        const done = await work()
        opened.requireUnchanged()
        return done
      } finally {
        db.exec('ROLLBACK')
      }
    },
    async write(organization, to) {
      const found = look(organization.organization)
      const facts = {
        ...FACTS,
        columns,
        exportedAt: nowIn(db),
        organizations: [{ ...organization, active: found.active }],
      }
      const rows = await parquetFormat({ ids: 'text' }).write(rowsOf(db, organization.organization, columns), to, facts)
      return { ...found, rows }
    },
    close: () => opened.close(),
  }
}

const FACTS = { table: 'customers', asOf: undefined, changesSince: undefined, lastSeq: 0 } as const

/** The public columns of `customers`. The organization is that of the partition, and the number of a row says nothing elsewhere. */
function columnsOf(withoutPersonalData: boolean): ExportColumn[] {
  return publicColumns('customers')
    .filter(({ name, personal }) => !['row_id', 'organization'].includes(name) && !(withoutPersonalData && personal))
    .map(({ name, type, meaning, nullable }) => ({ name, type, meaning, nullable }))
}

/** In the order of ids, and without a place to stop at: a statement that is not at its end would keep the file from being closed. */
function* rowsOf(db: Connection, organization: string, columns: readonly ExportColumn[]): Generator<ExportRow, void> {
  const names = columns.map(({ name }) => quoted(name)).join(', ')
  const sql = `SELECT ${names} FROM customers WHERE organization = ? ORDER BY id`
  yield* db.prepare<[string], ExportRow>(sql).raw().iterate(organization)
}

/**
 * `updated_at` moves with every change of a row, and a row that is deleted is missing in the count. An object whose columns have
 * other types in Parquet, as an earlier version wrote them, is written anew.
 */
function lookAt(db: Connection, organization: string, columns: readonly ExportColumn[]): OrganizationRows {
  const sql = `SELECT COUNT(*) AS rows, COUNT(*) FILTER (WHERE removed_at IS NULL) AS active, MAX(updated_at) AS updatedAt
    FROM customers WHERE organization = ?`
  const found = db.prepare<[string], Counted>(sql).safeIntegers(false).get(organization)
  const { rows = 0, active = 0, updatedAt = null } = found ?? {}
  const layout = columns.map((column) => `${column.name} ${parquetColumn(column, 'text').element.type}`)
  const state = createHash('sha256').update(JSON.stringify([organization, rows, active, updatedAt, layout]))
  return { rows, active, state: state.digest('hex').slice(0, 32) }
}

type Counted = { rows: number; active: number; updatedAt: string | null }

function readOrganizations(db: Connection, mirror: string): ReadOrganization[] {
  const lastRuns = new Map(inMirrorFile(mirror, recordedRunsIn).map((last) => [last.organization, last]))
  return db
    .prepare<[], Omit<ReadOrganization, 'lastRun' | 'lastStatus' | 'forgotten'>>(READ_ORGANIZATIONS)
    .safeIntegers(false)
    .all()
    .map((one) => {
      const { runId = one.run, status = 'complete', forgotten = 0 } = lastRuns.get(one.organization) ?? {}
      return { ...one, lastRun: runId, lastStatus: status, forgotten }
    })
}

const READ_ORGANIZATIONS = `
  SELECT fresh.organization, run.id AS run, run.proof, fresh.read_as_of AS readAsOf, fresh.proven_as_of AS provenAsOf,
    fresh.retired_at AS retiredAt, 0 AS active, '' AS firstReadAt
  FROM freshness AS fresh
  JOIN runs AS run ON run.id = ${lastReading('runs')}
  WHERE fresh.read_as_of NOT NULL ORDER BY fresh.organization`
