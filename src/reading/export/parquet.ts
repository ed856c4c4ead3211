import type { KeyValue } from 'hyparquet-writer'
import { UsageError } from '../../errors/errors.ts'
import { version } from '../../version.ts'
import type { ExportFacts, Format } from './format.ts'
import { parquetColumn } from './parquet-columns.ts'
import { ParquetFile, ValueUnwritable } from './parquet-file.ts'

/**
 * Parquet, compressed by zstd: ids are UUIDs, times are timestamps in UTC, and what is exported stands in the metadata of the file.
 * Rows are written as row groups while they come. Throws UsageError for a value that is not of the type of its column.
 */
export function parquetFormat(): Format {
  return {
    write(rows, to, facts) {
      const file = new ParquetFile(facts.columns.map(parquetColumn), {
        write: (bytes) => to.write(bytes),
        createdBy: `customer-mirror version ${version()}`,
        metadata: metadataOf(facts),
      })
      try {
        for (const row of rows) file.add(row)
      } catch (error) {
        if (error instanceof ValueUnwritable) throw unwritable(error, facts)
        throw error
      }
      file.finish()
      return file.rows
    },
  }
}

/** The manifest, under a key for each fact. Facts that are not known have no key. */
function metadataOf({ table, exportedAt, asOf, changesSince, lastSeq, organizations }: ExportFacts): KeyValue[] {
  const facts = {
    table,
    exported_at: exportedAt,
    as_of: asOf,
    changes_since: changesSince,
    last_seq: lastSeq,
    organizations: JSON.stringify(
      organizations.map(({ organization, run, proof, readAsOf, provenAsOf, retiredAt, active }) => ({
        organization,
        run_id: run,
        proof,
        read_as_of: readAsOf,
        proven_as_of: provenAsOf,
        retired_at: retiredAt,
        active_customers: active,
      })),
    ),
  }
  return Object.entries(facts).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: String(value) }]))
}

function unwritable({ column }: ValueUnwritable, { table }: ExportFacts): UsageError {
  return new UsageError(
    `A value of ${column} in ${table} is not of the type of its column, so Parquet cannot hold it. Rows that were edited by hand ` +
      'are repaired by the next run; --format csv and jsonl export values as they are.',
  )
}
