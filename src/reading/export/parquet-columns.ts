import type { SchemaElement } from 'hyparquet-writer'
import { fromSqlTime } from '../../store/port/sql-time.ts'
import type { SqlValue } from '../statements/readable-statement.ts'
import type { ExportColumn } from './format.ts'

/** How a column of the mirror is written to Parquet. */
export type ParquetColumn = {
  name: string
  /** The type that readers find; null is allowed in every column, whatever the mirror promises. */
  element: SchemaElement
  /** Least and greatest value of each row group: for what readers look rows up by, and not for text of customers. */
  statistics: boolean
  /** A value as SQLite returns it, as the writer takes it; undefined where the column cannot hold it. */
  convert(value: Value): Stored | undefined
}

type Stored = string | bigint | boolean | Uint8Array

/** JSON is written as text: some readers take the JSON of Parquet for bytes. */
export function parquetColumn({ name, type, holds }: Pick<ExportColumn, 'name' | 'type' | 'holds'>): ParquetColumn {
  const { statistics, convert, ...stored } = holds === 'uuid' ? UUID : KINDS[type]
  const element = { name, repetition_type: 'OPTIONAL', ...stored } satisfies SchemaElement
  return { name, element, convert, statistics: statistics || name === 'organization' || name === 'id' }
}

type Kind = Omit<SchemaElement, 'name'> & Pick<ParquetColumn, 'statistics' | 'convert'>

const KINDS: Readonly<Record<ExportColumn['type'], Kind>> = {
  TEXT: {
    type: 'BYTE_ARRAY',
    converted_type: 'UTF8',
    logical_type: { type: 'STRING' },
    statistics: false,
    convert: asText,
  },
  INTEGER: { type: 'INT64', statistics: true, convert: asInteger },
  DATETIME: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
    statistics: true,
    convert: asTimestamp,
  },
  BOOLEAN: { type: 'BOOLEAN', statistics: true, convert: asBoolean },
}

const UUID: Kind = {
  type: 'FIXED_LEN_BYTE_ARRAY',
  type_length: 16,
  logical_type: { type: 'UUID' },
  statistics: true,
  convert: asUuid,
}

type Value = NonNullable<SqlValue>

function asText(value: Value): string {
  return typeof value === 'string' ? value : value instanceof Uint8Array ? TO_TEXT.decode(value) : String(value)
}

const TO_TEXT = new TextDecoder()

function asInteger(value: Value): bigint | undefined {
  if (typeof value === 'bigint') return value
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : undefined
}

function asBoolean(value: Value): boolean | undefined {
  const number = Number(value)
  return number === 0 || number === 1 ? number === 1 : undefined
}

/** `YYYY-MM-DD HH:MM:SS`, with or without milliseconds, in UTC. */
function asTimestamp(value: Value): bigint | undefined {
  if (value === lastRead.value) return lastRead.unixMs
  if (typeof value !== 'string' || !TIME.test(value)) return undefined
  const unixMs = fromSqlTime(value)
  if (Number.isNaN(unixMs)) return undefined
  lastRead = { value, unixMs: BigInt(unixMs) }
  return lastRead.unixMs
}

const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?$/

/** Rows that one transaction wrote have the same time. */
let lastRead: { value: Value | undefined; unixMs: bigint } = { value: undefined, unixMs: 0n }

function asUuid(value: Value): Uint8Array | undefined {
  if (typeof value !== 'string' || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value)) return undefined
  return Buffer.from(value.replaceAll('-', ''), 'hex')
}
