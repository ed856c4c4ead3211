/** An SQL expression for row numbers as bytes, a third of their size as text: 4 bytes each, in the order of the network. */
export const ROWS_AS_BYTES = `string_agg(int4send(row_id::integer), ''::bytea)`

/** The row numbers in such bytes; none where there were no rows. */
export function* rowsInBytes(bytes: Buffer | null): Generator<number> {
  for (let at = 0; at < (bytes?.length ?? 0); at += 4) yield bytes?.readInt32BE(at) ?? 0
}
