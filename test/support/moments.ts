import { z } from 'zod'

/** Rows with their times as numbers: other programs write a time with as many digits as it has. */
export function rowsWithMoments(rows: unknown): unknown[][] {
  return z
    .array(z.array(z.unknown()))
    .parse(rows)
    .map((row) => row.map(momentOf))
}

function momentOf(value: unknown): unknown {
  return /^\d{4}-\d\d-\d\d \d\d:/.test(String(value)) ? Date.parse(`${String(value)}Z`) : value
}
