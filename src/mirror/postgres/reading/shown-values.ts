import { VALUE_TYPES } from '../connection/value-types.ts'

/** A value of a statement as readers of the mirror in SQLite see it: an integer is a bigint, and any other number a number. */
export type ShownValue = string | number | bigint | Buffer | null

/** How a value of a PostgreSQL type is shown, by the number of the type. Others are shown as the server writes them. */
export const SHOWN_TYPES: ReadonlyMap<number, (text: string) => ShownValue> = new Map<
  number,
  (text: string) => ShownValue
>([
  ...[20, 21, 23, 26].map((type) => [type, BigInt] as const), // integers
  ...[700, 701].map((type) => [type, numberOf] as const), // real numbers
  [1700, numericOf],
  [16, (text) => (text === 't' ? 1n : 0n)],
  [17, (text) => Buffer.from(text.slice(2), 'hex')],
  ...[1114, 1184].map((type) => [type, momentOf(type)] as const),
])

/** `NaN` and infinity are not written as numbers anywhere. */
function numberOf(text: string): ShownValue {
  const number = Number(text)
  return Number.isFinite(number) ? number : text
}

/** A sum of integers is one too. */
function numericOf(text: string): ShownValue {
  return /^-?\d+$/.test(text) ? BigInt(text) : numberOf(text)
}

function momentOf(type: number): (text: string) => ShownValue {
  const read = VALUE_TYPES.get(type)
  return (text) => {
    const time = read?.(text)
    return typeof time === 'string' ? time : text
  }
}
