import { types } from 'pg'

/** How a value of a PostgreSQL type is read, by the number of the type: as the mirror in SQLite has it. */
export const VALUE_TYPES: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [20, Number], // bigint: counts, and numbers of rows and runs, all below 2^53
  [1700, Number], // numeric: the sum of bigints
  [114, asItIs], // json
  [3802, asItIs], // jsonb
  [1082, asItIs], // date
  [1114, timeOf], // timestamp
  [1184, timeOf], // timestamp with time zone, shown in UTC
])

/** How the driver reads a value of a type for the mirror. */
export function valueParser(type: number): (text: string) => unknown {
  return VALUE_TYPES.get(type) ?? types.getTypeParser(type)
}

function asItIs(text: string): string {
  return text
}

/**
 * `YYYY-MM-DD HH:MM:SS.SSS` from PostgreSQL's `YYYY-MM-DD HH:MM:SS[.f][+00]`, also in the year 0, which is 1 BC there; other times, such
 * as infinity, as they are.
 */
function timeOf(text: string): string {
  const [, year, rest, fraction = '', era] = TIME.exec(text) ?? []
  if (year === undefined || (era !== undefined && year !== '0001')) return text
  return `${era === undefined ? year : '0000'}-${rest}.${fraction.slice(0, 3).padEnd(3, '0')}`
}

const TIME = /^(\d+)-(\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d+))?(?:\+00)?( BC)?$/
