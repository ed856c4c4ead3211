import { zstdCompressSync } from 'node:zlib'
import { ByteWriter, type KeyValue, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import type { ExportColumn, ExportFacts, Format, FormatSettings } from './format.ts'
import type { SqlValue } from './read-rows.ts'
import { UsageError } from '../errors/errors.ts'
import { PROGRAM_VERSION } from '../machine/version.ts'
import { UUID } from '../model/customer.ts'

/** Row groups end at this many rows, or this many bytes of text, whichever comes first. */
const GROUP_ROWS = 10_000
const GROUP_BYTES = 8_000_000

/** Parquet, with no more than one row group in memory. Throws UsageError for a value that is not of the type of its column. */
export function parquetFormat({ ids }: Pick<FormatSettings, 'ids'>): Format {
  return function* (rows, facts) {
    const columns = facts.columns.map(({ name, type }) => {
      const data: Stored[] = []
      // Least and greatest value of each row group; of text, only for what readers look rows up by.
      const statistics = type !== 'TEXT' || name === 'organization' || name === 'id'
      return { name, ...(name === 'id' && ids === 'uuid' ? AS_UUID : KINDS[type]), statistics, data }
    })
    const bytes = new ByteWriter(1024 * 1024)
    const writer = new ParquetWriter({
      writer: bytes,
      // Null is allowed in every column, whatever the mirror promises.
      schema: [
        { name: 'root', num_children: columns.length },
        ...columns.map(({ name, element }) => ({ name, repetition_type: 'OPTIONAL' as const, ...element })),
      ],
      codec: 'ZSTD',
      compressors: { ZSTD: (content) => zstdCompressSync(content) },
      createdBy: `customer-mirror version ${PROGRAM_VERSION}`,
      kvMetadata: metadataOf(facts),
    })
    const taken = () => {
      const written = bytes.getBytes()
      bytes.index = 0
      return written
    }
    let kept = 0
    let size = 0
    const writeGroup = () => {
      // zstd finds what repeats: looking for it here would take twice the time, for files of the same size.
      const columnData = columns.map(({ name, statistics, data }) => {
        return { name, statistics, data: data.splice(0), encoding: 'PLAIN' as const }
      })
      void writer.write({ rowGroupSize: kept, columnData })
      kept = 0
      size = 0
      return taken()
    }
    for (const row of rows) {
      for (const [at, { name, convert, data }] of columns.entries()) {
        const value = row[at] ?? null
        const stored = value === null ? null : convert(value)
        // As only an edit by hand leaves it.
        if (stored === undefined)
          throw new UsageError(
            `A value of ${name} in ${facts.table} is not of the type of its column, so Parquet cannot hold it. Rows that were edited by hand ` +
              'are repaired by the next run; --format csv and jsonl export values as they are.',
          )
        if (stored instanceof Uint8Array) size += stored.length
        data.push(stored)
      }
      kept += 1
      if (kept === GROUP_ROWS || size >= GROUP_BYTES) yield writeGroup()
    }
    if (kept > 0) yield writeGroup()
    void writer.finish()
    yield taken()
  }
}

/** The manifest, under a key for each fact. Facts that are not known have no key. */
function metadataOf({ table, exportedAt, changesSince, lastSeq, organizations }: ExportFacts): KeyValue[] {
  const facts = {
    table,
    exported_at: exportedAt,
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

/** How a column of a type is written. JSON is written as text: some readers take the JSON of Parquet for bytes. */
type Kind = {
  element: Omit<SchemaElement, 'name'>
  /** A value as SQLite returns it, as the writer takes it; undefined where the column cannot hold it. */
  convert: (value: NonNullable<SqlValue>) => Stored | undefined
}

type Stored = bigint | boolean | Uint8Array | null

const KINDS: Readonly<Record<ExportColumn['type'], Kind>> = {
  TEXT: {
    element: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
    convert: (value) => Buffer.from(String(value)),
  },
  INTEGER: {
    element: { type: 'INT64' },
    convert: (value) => (typeof value === 'bigint' ? value : undefined),
  },
  DATETIME: {
    element: {
      ...{ type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
    },
    convert: asTimestamp,
  },
  BOOLEAN: {
    element: { type: 'BOOLEAN' },
    convert: (value) => (value === 0n || value === 1n ? value === 1n : undefined),
  },
}

const AS_UUID: Kind = {
  element: { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, logical_type: { type: 'UUID' } },
  convert: (value) =>
    typeof value === 'string' && UUID.test(value) ? Buffer.from(value.replaceAll('-', ''), 'hex') : undefined,
}

function asTimestamp(value: NonNullable<SqlValue>): bigint | undefined {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?$/.test(value)) return undefined
  const unixMs = Date.parse(`${value.replace(' ', 'T')}Z`)
  return Number.isNaN(unixMs) ? undefined : BigInt(unixMs)
}
