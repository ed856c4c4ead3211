import { ByteWriter, ParquetWriter, type KeyValue, type SchemaElement } from 'hyparquet-writer'
import { zstdCompressSync } from 'node:zlib'
import type { ExportRow } from './format.ts'
import type { ParquetColumn } from './parquet-columns.ts'

/** Row groups end at this many rows, or this many characters of text, whichever comes first. */
const GROUP_ROWS = 10_000
const GROUP_CHARACTERS = 8_000_000

/**
 * A Parquet file that is written one row group after the other, compressed by zstd: no more than a row group is in memory, and a
 * few hundred bytes for each that is written. `write` gets the bytes of the file in order.
 */
export class ParquetFile {
  rows = 0
  readonly #columns: readonly ParquetColumn[]
  readonly #write: (bytes: Uint8Array) => void
  readonly #bytes = new ByteWriter(1024 * 1024)
  readonly #writer: ParquetWriter
  /** The row group that is being filled, by column. */
  #group: unknown[][]
  #characters = 0

  constructor(
    columns: readonly ParquetColumn[],
    { write, createdBy, metadata }: { write: (bytes: Uint8Array) => void; createdBy: string; metadata: KeyValue[] },
  ) {
    this.#columns = columns
    this.#write = write
    this.#group = columns.map(() => [])
    const root: SchemaElement = { name: 'root', num_children: columns.length }
    this.#writer = new ParquetWriter({
      writer: this.#bytes,
      schema: [root, ...columns.map(({ element }) => element)],
      codec: 'ZSTD',
      compressors: { ZSTD: (bytes) => zstdCompressSync(bytes) },
      createdBy,
      kvMetadata: metadata,
    })
  }

  /** Throws ValueUnwritable for a value that its column cannot hold. */
  add(row: ExportRow): void {
    for (let place = 0; place < this.#columns.length; place += 1) {
      const value = row[place] ?? null
      const column = this.#columns[place]
      const stored = value === null ? null : column?.convert(value)
      if (stored === undefined) throw new ValueUnwritable(column?.name ?? '')
      if (typeof stored === 'string') this.#characters += stored.length
      this.#group[place]?.push(stored)
    }
    this.rows += 1
    if (this.rows % GROUP_ROWS === 0 || this.#characters >= GROUP_CHARACTERS) this.#finishGroup()
  }

  /** Writes what is left, and what readers find the rest by. */
  finish(): void {
    this.#finishGroup()
    void this.#writer.finish()
    this.#flush()
  }

  #finishGroup(): void {
    const rowGroupSize = this.#group[0]?.length ?? 0
    if (rowGroupSize === 0) return
    void this.#writer.write({
      rowGroupSize,
      columnData: this.#columns.map(({ name, statistics }, place) => ({
        name,
        statistics,
        ...asWritten(this.#group[place] ?? []),
      })),
    })
    this.#group = this.#columns.map(() => [])
    this.#characters = 0
    this.#flush()
  }

  #flush(): void {
    this.#write(this.#bytes.getBytes())
    this.#bytes.index = 0
  }
}

/** Repeated text goes into a dictionary, which the writer makes of strings; other text costs half as much as bytes from a pool. */
function asWritten(data: unknown[]): { data: unknown[]; encoding?: 'PLAIN' } {
  const sample = data.slice(0, SAMPLED).filter((value) => typeof value === 'string')
  if (new Set(sample).size * 2 <= sample.length) return { data }
  return { data: data.map((value) => (typeof value === 'string' ? Buffer.from(value) : value)), encoding: 'PLAIN' }
}

const SAMPLED = 1000

/** A value is of another kind than its column, as only an edit by hand leaves it. */
export class ValueUnwritable extends Error {
  override name = 'ValueUnwritable' as const
  readonly column: string

  constructor(column: string) {
    super(`a value in the column ${column} is not of the type of the column`)
    this.column = column
  }
}
